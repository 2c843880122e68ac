package interop.client;

import com.google.gson.Gson;
import com.google.lf.a2a.v1.A2AServiceGrpc;
import com.google.lf.a2a.v1.A2AServiceGrpc.A2AServiceBlockingStub;
import com.google.lf.a2a.v1.AgentCard;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.util.JsonFormat;
import com.google.rpc.ErrorInfo;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.MetadataUtils;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.Arrays;
import java.util.List;

/** Calls an agent with plain grpc-java: {@code Client grpc CARD-URL OPERATION [ARGS]}. */
public final class Client {
  public static void main(String[] args) throws Exception {
    System.out.println(new Gson().toJson(run(args[1], args[2], Arrays.asList(args).subList(3, args.length))));
    System.exit(0);
  }

  private static Report run(String card, String operation, List<String> args) throws Exception {
    var channel = open(card);
    var operations = new Operations(stub(channel));
    try {
      return switch (operation) {
        case "send" -> operations.send(args);
        case "stream" -> operations.stream(args.get(0));
        case "resume" -> {
          var seen = operations.streamTwoChunks(args.get(0));
          channel.shutdownNow();
          yield new Operations(stub(open(args.size() > 1 ? args.get(1) : card))).subscribe(seen);
        }
        case "cancel" -> operations.cancel();
        case "list" -> operations.list(args.get(0));
        case "push" -> operations.push(args.get(0));
        case "error" -> operations.error();
        default -> throw new IllegalArgumentException("no such operation: " + operation);
      };
    } catch (StatusRuntimeException refused) {
      return Report.ofError(refused.getMessage(), reasonOf(refused));
    }
  }

  /** Connects to the gRPC interface that a card names. */
  private static ManagedChannel open(String cardUrl) throws IOException, InterruptedException {
    var request = HttpRequest.newBuilder(URI.create(cardUrl)).build();
    var card = AgentCard.newBuilder();
    JsonFormat.parser().ignoringUnknownFields().merge(HttpClient.newHttpClient().send(request, BodyHandlers.ofString()).body(), card);
    for (var offered : card.getSupportedInterfacesList()) {
      if (offered.getProtocolBinding().equals("GRPC")) {
        return Grpc.newChannelBuilder(offered.getUrl().replaceFirst("^http://", ""), InsecureChannelCredentials.create()).build();
      }
    }
    throw new IllegalArgumentException(cardUrl + " offers no gRPC");
  }

  private static A2AServiceBlockingStub stub(ManagedChannel channel) {
    var headers = new Metadata();
    headers.put(Metadata.Key.of("a2a-version", Metadata.ASCII_STRING_MARSHALLER), "1.0");
    return A2AServiceGrpc.newBlockingStub(channel).withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers));
  }

  private static String reasonOf(StatusRuntimeException refused) throws InvalidProtocolBufferException {
    for (var detail : StatusProto.fromThrowable(refused).getDetailsList()) {
      if (detail.is(ErrorInfo.class)) return detail.unpack(ErrorInfo.class).getReason();
    }
    return null;
  }

  private Client() {}
}
