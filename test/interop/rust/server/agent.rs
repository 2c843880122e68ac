//! The agent that does what the first word of a message says.

use std::time::Duration;

use a2a::{
    A2AError, Artifact, Message, Part, Role, StreamResponse, Task, TaskArtifactUpdateEvent, TaskState, TaskStatus,
    TaskStatusUpdateEvent,
};
use a2a_server::{AgentExecutor, ExecutorContext};
use async_stream::try_stream;
use futures::stream::BoxStream;
use tokio::time::sleep;

type Events = BoxStream<'static, Result<StreamResponse, A2AError>>;

pub struct WordAgent;

impl AgentExecutor for WordAgent {
    fn execute(&self, context: ExecutorContext) -> Events {
        let text = context.message.as_ref().and_then(Message::text).unwrap_or_default().to_owned();
        let (word, rest) = text.split_once(' ').unwrap_or((&text, ""));
        let (word, rest) = (word.to_owned(), rest.to_owned());
        Box::pin(try_stream! {
            if is_answer(&context) {
                yield artifact(&context, &text, false, true);
                yield status(&context, TaskState::Completed, None);
                return;
            }
            if word == "message" {
                yield StreamResponse::Message(Message::new(Role::Agent, vec![Part::text(rest)]));
                return;
            }
            yield submitted(&context);
            match word.as_str() {
                "echo" => {
                    yield artifact(&context, &rest, false, true);
                    yield status(&context, TaskState::Completed, None);
                }
                "stream" => {
                    let (count, pause) = numbers(&rest);
                    yield status(&context, TaskState::Working, None);
                    for n in 1..=count {
                        yield artifact(&context, &format!("c{n} "), n > 1, n == count);
                        sleep(pause).await;
                    }
                    yield status(&context, TaskState::Completed, None);
                }
                "ask" => yield status(&context, TaskState::InputRequired, Some("Which one?")),
                "slow" => {
                    yield status(&context, TaskState::Working, None);
                    sleep(Duration::from_secs(60)).await;
                    yield status(&context, TaskState::Completed, None);
                }
                "fail" => yield status(&context, TaskState::Failed, Some("As you wish")),
                _ => yield status(&context, TaskState::Rejected, Some("No such word")),
            }
        })
    }

    fn cancel(&self, context: ExecutorContext) -> Events {
        Box::pin(try_stream! { yield status(&context, TaskState::Canceled, None) })
    }
}

/// A task that is there already need not have been asked anything: a blocking send stores it before the agent runs.
fn is_answer(context: &ExecutorContext) -> bool {
    context.stored_task.as_ref().is_some_and(|task| task.status.state == TaskState::InputRequired)
}

fn numbers(text: &str) -> (u32, Duration) {
    let mut numbers = text.split(' ').map(|number| number.parse().unwrap_or(0));
    let count = numbers.next().unwrap_or(0);
    (count, Duration::from_millis(numbers.next().unwrap_or(0).into()))
}

fn submitted(context: &ExecutorContext) -> StreamResponse {
    StreamResponse::Task(Task {
        id: context.task_id.clone(),
        context_id: context.context_id.clone(),
        status: TaskStatus { state: TaskState::Submitted, message: None, timestamp: None },
        artifacts: None,
        history: context.message.clone().map(|message| vec![message]),
        metadata: None,
    })
}

fn status(context: &ExecutorContext, state: TaskState, text: Option<&str>) -> StreamResponse {
    let message = text.map(|text| Message::new(Role::Agent, vec![Part::text(text)]));
    StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
        task_id: context.task_id.clone(),
        context_id: context.context_id.clone(),
        status: TaskStatus { state, message, timestamp: None },
        metadata: None,
    })
}

fn artifact(context: &ExecutorContext, text: &str, append: bool, last: bool) -> StreamResponse {
    StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
        task_id: context.task_id.clone(),
        context_id: context.context_id.clone(),
        artifact: Artifact {
            artifact_id: "text".into(),
            name: None,
            description: None,
            parts: vec![Part::text(text)],
            metadata: None,
            extensions: None,
        },
        append: Some(append),
        last_chunk: Some(last),
        metadata: None,
    })
}
