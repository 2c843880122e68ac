//! The operations, each with the calls of the SDK that its users would make.

use a2a::{
    A2AError, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetTaskPushNotificationConfigRequest,
    GetTaskRequest, ListTaskPushNotificationConfigsRequest, ListTasksRequest, Message, Part, Role,
    SendMessageConfiguration, SendMessageRequest, SendMessageResponse, StreamResponse, SubscribeToTaskRequest, Task,
    TaskPushNotificationConfig, new_task_id,
};
use futures::{Stream, TryStreamExt};

use crate::Client;
use crate::report::{Report, View};

fn request(text: &str) -> SendMessageRequest {
    SendMessageRequest {
        message: Message::new(Role::User, vec![Part::text(text)]),
        configuration: None,
        metadata: None,
        tenant: None,
    }
}

pub async fn send(client: &Client, text: &str, follow_up: Option<(&str, &str)>) -> Result<Report, A2AError> {
    let mut request = request(text);
    if let Some((task, context)) = follow_up {
        request.message.task_id = Some(task.into());
        request.message.context_id = Some(context.into());
    }
    Ok(match client.send_message(&request).await? {
        SendMessageResponse::Task(task) => Report::of_task(&task),
        SendMessageResponse::Message(message) => Report::of_message(&message),
    })
}

pub async fn stream(client: &Client, text: &str) -> Result<Report, A2AError> {
    let mut seen = View::default();
    let mut events = client.send_streaming_message(&request(text)).await?;
    read(&mut events, &mut seen, usize::MAX).await?;
    seen.report()
}

pub async fn resume(
    client: Client,
    text: &str,
    reopened: impl Future<Output = Result<Client, A2AError>>,
) -> Result<Report, A2AError> {
    let mut seen = View::default();
    let mut events = client.send_streaming_message(&request(text)).await?;
    read(&mut events, &mut seen, 2).await?;
    drop(events);
    client.destroy().await?;
    drop(client);
    let subscribe = SubscribeToTaskRequest { id: seen.task()?.id.clone(), tenant: None };
    let mut events = reopened.await?.subscribe_to_task(&subscribe).await?;
    read(&mut events, &mut seen, usize::MAX).await?;
    seen.report()
}

/// Folds events until the view has so many chunks, or the stream ends.
async fn read<S>(events: &mut S, seen: &mut View, chunks: usize) -> Result<(), A2AError>
where
    S: Stream<Item = Result<StreamResponse, A2AError>> + Unpin,
{
    while seen.chunks < chunks {
        match events.try_next().await? {
            Some(event) => seen.fold(event)?,
            None => break,
        }
    }
    Ok(())
}

pub async fn cancel(client: &Client) -> Result<Report, A2AError> {
    let mut request = request("slow");
    request.configuration = Some(SendMessageConfiguration {
        accepted_output_modes: None,
        task_push_notification_config: None,
        history_length: None,
        return_immediately: Some(true),
    });
    let id = match client.send_message(&request).await? {
        SendMessageResponse::Task(Task { id, .. }) => id,
        SendMessageResponse::Message(_) => return Err(A2AError::internal("a message, and no task")),
    };
    let task = client.cancel_task(&CancelTaskRequest { id, metadata: None, tenant: None }).await?;
    Ok(Report::of_task(&task))
}

pub async fn list(client: &Client, context: &str) -> Result<Report, A2AError> {
    let request = ListTasksRequest {
        context_id: Some(context.into()),
        status: None,
        page_size: None,
        page_token: None,
        history_length: None,
        status_timestamp_after: None,
        include_artifacts: None,
        tenant: None,
    };
    let tasks = client.list_tasks(&request).await?.tasks;
    Ok(Report::of_ids(tasks.into_iter().map(|task| task.id)))
}

pub async fn push(client: &Client, task: &str) -> Result<Report, A2AError> {
    let task_id = task.to_owned();
    let config = TaskPushNotificationConfig {
        url: "https://example.com/hook".into(),
        id: None,
        task_id: task_id.clone(),
        token: None,
        authentication: None,
        tenant: None,
    };
    let created = client.create_push_config(&config).await?;
    let id = created.id.ok_or_else(|| A2AError::internal("the config has no id"))?;
    let get = GetTaskPushNotificationConfigRequest { task_id: task_id.clone(), id: id.clone(), tenant: None };
    let got = client.get_push_config(&get).await?;
    if got.url != config.url {
        return Err(A2AError::internal(format!("another URL came back: {}", got.url)));
    }
    let list = ListTaskPushNotificationConfigsRequest {
        task_id: task_id.clone(),
        page_size: None,
        page_token: None,
        tenant: None,
    };
    let configs = client.list_push_configs(&list).await?.configs;
    client.delete_push_config(&DeleteTaskPushNotificationConfigRequest { task_id, id, tenant: None }).await?;
    Ok(Report::of_ids(configs.into_iter().filter_map(|config| config.id)))
}

pub async fn error(client: &Client) -> Result<Report, A2AError> {
    let request = GetTaskRequest { id: new_task_id(), history_length: None, tenant: None };
    client.get_task(&request).await.map(|task| Report::of_task(&task))
}
