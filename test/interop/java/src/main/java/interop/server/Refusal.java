package interop.server;

import com.google.protobuf.Any;
import com.google.rpc.Code;
import com.google.rpc.ErrorInfo;
import com.google.rpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;

/** Errors as A2A wants them: a gRPC status with the reason in its details. */
final class Refusal {
  static StatusRuntimeException of(Code code, String reason, String message) {
    var info = ErrorInfo.newBuilder().setReason(reason).setDomain("a2a-protocol.org").build();
    return StatusProto.toStatusRuntimeException(
        Status.newBuilder().setCode(code.getNumber()).setMessage(message).addDetails(Any.pack(info)).build());
  }

  static StatusRuntimeException notFound(String what) {
    return of(Code.NOT_FOUND, "TASK_NOT_FOUND", "there is no " + what);
  }

  private Refusal() {}
}
