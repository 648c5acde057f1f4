use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let definitions = std::fs::read_dir("contract/relayer/v1")?.map(|file| Ok(file?.path())).collect::<std::io::Result<Vec<_>>>()?;
    tonic_prost_build::configure().build_server(false).compile_protos(&definitions, &["contract".into()])?;

    // The descriptors of the in-house option, for src/links.rs.
    let out = Path::new(&std::env::var("OUT_DIR")?).join("inhouse.bin");
    tonic_prost_build::configure().file_descriptor_set_path(out).compile_protos(&["../inhouse/options.proto"], &["../inhouse"])?;
    Ok(())
}
