package org.example;

import static java.util.concurrent.TimeUnit.SECONDS;

import com.google.lf.a2a.v1.A2AServiceGrpc;
import com.google.lf.a2a.v1.A2AServiceGrpc.A2AServiceBlockingStub;
import com.google.lf.a2a.v1.CancelTaskRequest;
import com.google.lf.a2a.v1.GetTaskRequest;
import com.google.lf.a2a.v1.Message;
import com.google.lf.a2a.v1.Part;
import com.google.lf.a2a.v1.Role;
import com.google.lf.a2a.v1.SendMessageConfiguration;
import com.google.lf.a2a.v1.SendMessageRequest;
import com.google.lf.a2a.v1.StreamResponse;
import com.google.lf.a2a.v1.SubscribeToTaskRequest;
import com.google.lf.a2a.v1.TaskState;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.MessageOrBuilder;
import com.google.protobuf.util.JsonFormat;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.MetadataUtils;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Calls an A2A agent over gRPC. A stream that is cut is taken up again, until its task is at rest. Prints the frames, and then the task as it
 * is, each as a line of JSON.
 */
public final class Caller {
  private static final int DEADLINE_S = 30;
  private static final int ATTEMPTS = 10;
  /** How a stream ends where a connection is lost, a replica drained or a proxy restarted. */
  private static final Set<Code> LOST = Set.of(Code.UNAVAILABLE, Code.INTERNAL, Code.UNKNOWN);

  private final ManagedChannel channel;
  private final A2AServiceBlockingStub stub;

  private Caller(String address) {
    // A send too: this server knows a repeat by its messageId, and its card says so (urn:throughline:a2a:idempotent-send:v1).
    Map<String, ?> retry = Map.of("maxAttempts", 5.0, "initialBackoff", "0.2s", "maxBackoff", "5s", "backoffMultiplier", 2.0,
        "retryableStatusCodes", List.of("UNAVAILABLE"));
    channel = NettyChannelBuilder.forTarget(address)
        // Across a network: without this line.
        .usePlaintext()
        // A task has up to 15 MiB; the default is 4.
        .maxInboundMessageSize(16 * 1024 * 1024)
        // Finds out that a connection is half open. What arrives puts the PING off, and this server sends one every 15 s: so it gets none.
        // Others may be silent and allow one in five minutes only: 300 suits them all.
        .keepAliveTime(60, SECONDS)
        .keepAliveTimeout(10, SECONDS)
        .defaultServiceConfig(Map.of("methodConfig", List.of(Map.of("name", List.of(Map.of()), "retryPolicy", retry))))
        .build();
    Metadata version = new Metadata();
    version.put(Metadata.Key.of("a2a-version", Metadata.ASCII_STRING_MARSHALLER), "1.0");
    stub = A2AServiceGrpc.newBlockingStub(channel).withInterceptors(MetadataUtils.newAttachHeadersInterceptor(version));
  }

  /** Of the calls that wait for nothing. A stream has none: a task may take hours, and keepalive tells when the connection is dead. */
  private A2AServiceBlockingStub withDeadline() {
    return stub.withDeadlineAfter(DEADLINE_S, SECONDS);
  }

  /** Answers the task at rest; of a {@code send}, where the agent makes no task of it, its message. */
  private MessageOrBuilder follow(String taskId, SendMessageRequest send) throws Exception {
    boolean atRest = false;
    for (int lost = 0; !atRest && lost < ATTEMPTS; lost++) {
      Thread.sleep(lost * lost * ThreadLocalRandom.current().nextLong(100, 200));
      // Otherwise a server that was away for long is looked for every two minutes only.
      channel.resetConnectBackoff();
      try {
        Iterator<StreamResponse> frames = taskId.isEmpty()
            ? stub.sendStreamingMessage(send)
            : stub.subscribeToTask(SubscribeToTaskRequest.newBuilder().setId(taskId).build());
        // Also a clean end is a cut: only a state says that a task is at rest.
        while (!atRest && frames.hasNext()) {
          StreamResponse frame = frames.next();
          lost = 0;
          show(frame); // a task stands for everything before it, an update adds to it
          if (frame.hasMessage() && taskId.isEmpty()) return frame.getMessage();
          if (frame.hasTask()) taskId = frame.getTask().getId();
          TaskState state = (frame.hasTask() ? frame.getTask().getStatus() : frame.getStatusUpdate().getStatus()).getState();
          // The states after WORKING are those in which a task rests: it is over, or waits for its caller.
          atRest = state.compareTo(TaskState.TASK_STATE_WORKING) > 0;
        }
      } catch (StatusRuntimeException error) {
        Code code = error.getStatus().getCode();
        // A task that is over is not streamed any more.
        atRest = !taskId.isEmpty() && code == Code.FAILED_PRECONDITION;
        if (!atRest && !LOST.contains(code)) throw error;
      }
    }
    if (taskId.isEmpty()) throw new IllegalStateException("the outcome is unknown: look for the task with ListTasks before you send again");
    return withDeadline().getTask(GetTaskRequest.newBuilder().setId(taskId).build());
  }

  private MessageOrBuilder call(String command, String argument) throws Exception {
    Message message = Message.newBuilder().setMessageId(UUID.randomUUID().toString()).setRole(Role.ROLE_USER)
        .addParts(Part.newBuilder().setText(argument)).build();
    SendMessageRequest.Builder send = SendMessageRequest.newBuilder().setMessage(message);
    return switch (command) {
      // Nothing has to stay open while the agent works: follow shows the rest.
      case "send" -> withDeadline()
          .sendMessage(send.setConfiguration(SendMessageConfiguration.newBuilder().setReturnImmediately(true)).build());
      case "stream" -> follow("", send.build());
      case "follow" -> follow(argument, null);
      case "cancel" -> withDeadline().cancelTask(CancelTaskRequest.newBuilder().setId(argument).build());
      default -> throw new IllegalArgumentException("no command " + command);
    };
  }

  private static void show(MessageOrBuilder message) throws InvalidProtocolBufferException {
    System.out.println(JsonFormat.printer().omittingInsignificantWhitespace().print(message));
  }

  public static void main(String[] arguments) throws Exception {
    if (arguments.length != 3) {
      System.err.println("usage: caller HOST:PORT send TEXT | stream TEXT | follow TASK | cancel TASK");
      System.exit(2);
    }
    Caller caller = new Caller(arguments[0]);
    try {
      show(caller.call(arguments[1], arguments[2]));
    } catch (StatusRuntimeException error) {
      // Its code, and what the server says.
      System.err.println(error.getStatus().getCode() + ": " + error.getStatus().getDescription());
      System.exit(1);
    } catch (IllegalStateException | IllegalArgumentException error) {
      System.err.println(error.getMessage());
      System.exit(1);
    } finally {
      caller.channel.shutdownNow();
    }
  }
}
