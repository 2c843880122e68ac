package interop.client;

import com.google.lf.a2a.v1.Message;
import com.google.lf.a2a.v1.Part;
import com.google.lf.a2a.v1.Task;
import java.util.List;
import java.util.stream.Collectors;

/** The last line of the program; what is null is left out. */
record Report(
    boolean ok, String state, List<String> artifacts, String message, String taskId, String contextId, List<String> ids,
    String error, String reason) {
  static Report ofTask(Task task) {
    var artifacts = task.getArtifactsList().stream().map(artifact -> textOf(artifact.getPartsList())).toList();
    var state = task.getStatus().getState().name();
    return new Report(true, state, artifacts, null, task.getId(), task.getContextId(), null, null, null);
  }

  static Report ofMessage(Message message) {
    return new Report(true, null, null, textOf(message.getPartsList()), null, null, null, null, null);
  }

  static Report ofIds(List<String> ids) {
    return new Report(true, null, null, null, null, null, ids, null, null);
  }

  static Report ofError(String error, String reason) {
    return new Report(false, null, null, null, null, null, null, error, reason);
  }

  private static String textOf(List<Part> parts) {
    return parts.stream().map(Part::getText).collect(Collectors.joining());
  }
}
