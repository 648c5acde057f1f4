//! Starts if the contract, Google's definitions, the official health package and a team's own option share one pool of descriptors.

use prost_reflect::DescriptorPool;

fn main() {
    let contract = std::fs::read("contract.binpb").expect("the descriptor set that the service hands out");
    let mut pool = DescriptorPool::global();
    for set in [
        &contract[..],
        tonic_types::pb::FILE_DESCRIPTOR_SET,
        tonic_health::pb::FILE_DESCRIPTOR_SET,
        include_bytes!(concat!(env!("OUT_DIR"), "/inhouse.bin")),
    ] {
        pool.decode_file_descriptor_set(set).expect("no name or number is taken twice");
    }
    for name in ["relayer.v1.Transaction", "google.rpc.ErrorInfo", "grpc.health.v1.HealthCheckRequest"] {
        pool.get_message_by_name(name).expect(name);
    }
    pool.get_extension_by_name("inhouse.v1.owner").expect("the in-house option");
    println!("linked");
}
