//! While the store is being opened: how far that is, for who asks and for the log.

use crate::config::ByteSize;
use crate::shared::Shared;
use foliot_engine::Replay;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// How often the log tells how far it is.
const TOLD_EVERY: Duration = Duration::from_secs(5);

/// Tells the log how far the opening is, until the store is there or the server stops.
pub(crate) async fn tell(shared: Arc<Shared>) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(TOLD_EVERY) => log::info!("{}", said(&shared)),
            _ = shared.wait_for_store() => return,
        }
    }
}

/// How far it is, in a sentence.
pub(crate) fn said(shared: &Shared) -> String {
    let seconds = shared.began.elapsed().as_secs();
    let Replay { read_bytes, total_bytes } = shared.opening.replay();
    let log = match total_bytes {
        0 => String::new(),
        _ => format!(
            "; {} % of {} of the log were read",
            read_bytes.saturating_mul(100) / total_bytes,
            ByteSize(total_bytes).rounded()
        ),
    };
    format!("opening the store, for {seconds} s so far{log}")
}

/// The same for programs.
pub(crate) fn told(shared: &Shared) -> Value {
    let Replay { read_bytes, total_bytes } = shared.opening.replay();
    json!({
        "for_ms": shared.began.elapsed().as_millis() as u64,
        "read_bytes": read_bytes,
        "total_bytes": total_bytes,
    })
}
