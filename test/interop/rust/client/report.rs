//! What a caller has seen of a task, and how the program tells it.

use a2a::{A2AError, Artifact, Message, Part, StreamResponse, Task, TaskState, error_reason};
use serde::Serialize;

/// The last line of the program.
#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<TaskState>,
    artifacts: Vec<String>,
    message: Option<String>,
    task_id: Option<String>,
    context_id: Option<String>,
    ids: Vec<String>,
    error: Option<String>,
    reason: Option<&'static str>,
}

impl Report {
    pub fn of_task(task: &Task) -> Self {
        let artifacts = task.artifacts.iter().flatten().map(|artifact| text_of(&artifact.parts)).collect();
        Report {
            ok: true,
            state: Some(task.status.state.clone()),
            artifacts,
            task_id: Some(task.id.clone()),
            context_id: Some(task.context_id.clone()),
            ..Default::default()
        }
    }

    pub fn of_message(message: &Message) -> Self {
        Report { ok: true, message: Some(text_of(&message.parts)), ..Default::default() }
    }

    pub fn of_ids(ids: impl Iterator<Item = String>) -> Self {
        Report { ok: true, ids: ids.collect(), ..Default::default() }
    }

    pub fn of_error(error: A2AError) -> Self {
        let reason = Some(error_reason(error.code));
        Report { error: Some(error.message), reason, ..Default::default() }
    }
}

/// What a caller has seen, folded from events.
#[derive(Default)]
pub struct View {
    task: Option<Task>,
    message: Option<Message>,
    pub chunks: usize,
}

impl View {
    pub fn task(&self) -> Result<&Task, A2AError> {
        self.task.as_ref().ok_or_else(|| A2AError::internal("no task was told"))
    }

    pub fn report(&self) -> Result<Report, A2AError> {
        match &self.message {
            Some(message) => Ok(Report::of_message(message)),
            None => self.task().map(Report::of_task),
        }
    }

    pub fn fold(&mut self, event: StreamResponse) -> Result<(), A2AError> {
        match event {
            StreamResponse::Message(message) => self.message = Some(message),
            StreamResponse::Task(task) => self.task = Some(task),
            StreamResponse::StatusUpdate(update) => self.known()?.status = update.status,
            StreamResponse::ArtifactUpdate(update) => {
                self.chunks += 1;
                put(self.known()?.artifacts.get_or_insert_default(), update.artifact, update.append == Some(true));
            }
        }
        Ok(())
    }

    fn known(&mut self) -> Result<&mut Task, A2AError> {
        self.task.as_mut().ok_or_else(|| A2AError::internal("an update came before the task"))
    }
}

fn put(artifacts: &mut Vec<Artifact>, artifact: Artifact, append: bool) {
    match artifacts.iter_mut().find(|known| known.artifact_id == artifact.artifact_id) {
        Some(known) if append => known.parts.extend(artifact.parts),
        Some(known) => *known = artifact,
        None => artifacts.push(artifact),
    }
}

fn text_of(parts: &[Part]) -> String {
    parts.iter().filter_map(Part::as_text).collect()
}
