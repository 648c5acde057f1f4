package example;

import com.google.api.AnnotationsProto;
import com.google.protobuf.DescriptorProtos.MethodOptions;
import com.google.protobuf.ExtensionRegistry;
import com.google.rpc.ErrorDetailsProto;
import com.relayer.v1.TransactionServiceProto;
import inhouse.v1.Options;
import io.grpc.health.v1.HealthProto;

/** Runs if the contract's stubs, Google's packages, the official health package and a team's own option share one process. */
public final class Links {
  public static void main(String[] args) {
    ExtensionRegistry registry = ExtensionRegistry.newInstance();
    registry.add(AnnotationsProto.http);
    registry.add(Options.owner);
    if (registry.findImmutableExtensionByNumber(MethodOptions.getDescriptor(), 51001) == null) throw new AssertionError("no option");
    for (var file : new com.google.protobuf.Descriptors.FileDescriptor[] {
      TransactionServiceProto.getDescriptor(), ErrorDetailsProto.getDescriptor(), HealthProto.getDescriptor()
    }) {
      if (file.getMessageTypes().isEmpty()) throw new AssertionError(file.getName());
    }
    System.out.println("linked");
  }
}
