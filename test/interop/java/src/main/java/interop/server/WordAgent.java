package interop.server;

import com.google.lf.a2a.v1.Message;
import com.google.lf.a2a.v1.Part;
import com.google.lf.a2a.v1.Role;
import com.google.lf.a2a.v1.TaskState;
import java.util.Optional;
import java.util.UUID;
import java.util.stream.Collectors;

/** Does what the first word of a message says. */
final class WordAgent {
  /** One turn of a new task. */
  static void work(WordTask task, Message message) {
    var words = textOf(message).split(" ", 2);
    var rest = words.length > 1 ? words[1] : "";
    try {
      switch (words[0]) {
        case "echo" -> say(task, rest);
        case "stream" -> stream(task, rest.split(" "));
        case "ask" -> task.become(TaskState.TASK_STATE_INPUT_REQUIRED, says("Which one?"));
        case "slow" -> {
          task.become(TaskState.TASK_STATE_WORKING, null);
          Thread.sleep(60_000);
          task.become(TaskState.TASK_STATE_COMPLETED, null);
        }
        case "fail" -> task.become(TaskState.TASK_STATE_FAILED, says("As you wish"));
        default -> task.become(TaskState.TASK_STATE_REJECTED, says("What is " + words[0] + "?"));
      }
    } catch (InterruptedException canceled) {
      Thread.currentThread().interrupt();
    }
  }

  /** Completes a task with one artifact. */
  static void say(WordTask task, String text) {
    task.write(text, true);
    task.become(TaskState.TASK_STATE_COMPLETED, null);
  }

  /** The answer to a message that no task is made of. */
  static Optional<Message> directReply(Message message) {
    var text = textOf(message);
    return message.getTaskId().isEmpty() && text.startsWith("message ")
        ? Optional.of(says(text.substring("message ".length())))
        : Optional.empty();
  }

  static String textOf(Message message) {
    return message.getPartsList().stream().map(Part::getText).collect(Collectors.joining());
  }

  private static void stream(WordTask task, String[] numbers) throws InterruptedException {
    int count = Integer.parseInt(numbers[0]);
    task.become(TaskState.TASK_STATE_WORKING, null);
    for (int chunk = 1; chunk <= count; chunk++) {
      task.write("c" + chunk + " ", chunk == count);
      Thread.sleep(Long.parseLong(numbers[1]));
    }
    task.become(TaskState.TASK_STATE_COMPLETED, null);
  }

  private static Message says(String text) {
    return Message.newBuilder()
        .setMessageId(UUID.randomUUID().toString())
        .setRole(Role.ROLE_AGENT)
        .addParts(Part.newBuilder().setText(text))
        .build();
  }

  private WordAgent() {}
}
