package interop.server;

import com.google.lf.a2a.v1.AgentCapabilities;
import com.google.lf.a2a.v1.AgentCard;
import com.google.lf.a2a.v1.AgentInterface;
import com.google.lf.a2a.v1.AgentSkill;
import com.google.protobuf.util.JsonFormat;
import com.sun.net.httpserver.HttpServer;
import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;

/** Serves the word agent with plain grpc-java and stubs that are generated from the published schema. */
public final class Server {
  private static final String CARD_PATH = "/.well-known/agent-card.json";

  public static void main(String[] args) throws Exception {
    var rpc = Grpc.newServerBuilderForPort(0, InsecureServerCredentials.create()).addService(new WordService()).build().start();
    var address = "127.0.0.1:" + rpc.getPort();
    var card = JsonFormat.printer().print(card(address)).getBytes(StandardCharsets.UTF_8);

    var web = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    web.createContext(CARD_PATH, exchange -> {
      exchange.getResponseHeaders().set("Content-Type", "application/json");
      exchange.sendResponseHeaders(200, card.length);
      try (OutputStream body = exchange.getResponseBody()) {
        body.write(card);
      }
    });
    web.start();

    var url = "http://127.0.0.1:" + web.getAddress().getPort() + CARD_PATH;
    System.out.printf("ready {\"card\":\"%s\",\"grpc\":\"%s\"}%n", url, address);
    // The harness ends a server by closing its stdin.
    System.in.transferTo(OutputStream.nullOutputStream());
    System.exit(0);
  }

  private static AgentCard card(String address) {
    return AgentCard.newBuilder()
        .setName("Words")
        .setDescription("Does what the first word of a message says")
        .setVersion("1.0.0")
        .addSupportedInterfaces(
            AgentInterface.newBuilder().setUrl("http://" + address).setProtocolBinding("GRPC").setProtocolVersion("1.0"))
        .setCapabilities(AgentCapabilities.newBuilder().setStreaming(true).setPushNotifications(true))
        .addDefaultInputModes("text/plain")
        .addDefaultOutputModes("text/plain")
        .addSkills(AgentSkill.newBuilder().setId("words").setName("Words").setDescription("Does what a word says").addTags("test"))
        .build();
  }

  private Server() {}
}
