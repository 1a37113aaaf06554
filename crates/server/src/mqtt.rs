//! MQTT: subscribes at a broker and stores what arrives, in any format of TickTock's bodies, as a
//! template of its topic says, or as Sparkplug's edge nodes publish it.
//!
//! Messages are asked for at quality of service 1 and acknowledged when their samples are on stable
//! storage, so that what a crash cuts off comes again. A message that cannot be understood is
//! counted and acknowledged: it would never be understood. (OASIS MQTT 3.1.1.)

mod sparkplug;
mod template;

pub(crate) use template::Template;

use crate::config::Config;
use crate::ingest::{self, PATIENCE, log_rejects};
use crate::metrics::{Way, now_ns};
use crate::senders;
use crate::shared::Shared;
use crate::store::Store;
use crate::ticktock::{self, Text};
use crate::tls;
use foliot_access::Measurements;
use foliot_engine::{Ack, Commit};
use foliot_model::{NANOS_PER_MILLI, Reject};
use foliot_proto_opentsdb::ticktock::puts_of_json;
use foliot_proto_prometheus::{SparkplugPayload, sparkplug_rebirth};
use rumqttc::{
    AsyncClient, Event, EventLoop, MqttOptions, Packet, Publish, QoS, TlsConfiguration, Transport,
};
use sparkplug::{Births, News, Refused, Topic};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Requests to the broker that may wait to be sent, and acknowledgements that wait for room among
/// them: a broker that sends more before it hears of the first is left, and sends them again.
const REQUESTS_MAX: usize = 1024;
const ACKS_MAX: usize = 1 << 16;

/// Messages that the broker sends before the first of them is acknowledged.
const INFLIGHT_MAX: u16 = 100;

/// Messages that are read ahead of the one that is stored, and what holds them while they come in:
/// together they take what bodies of requests may take.
const AHEAD: u64 = 16;

/// Lines of Sparkplug that are made before they are stored: a message may come to many times its
/// bytes. And refused metrics that are told together.
const PIECE_BYTES: usize = 256 << 10;
const REJECTS_MAX: usize = 100;

/// How long to wait before a broker that cannot be reached is tried again, at first and at most.
const RETRY_PAUSE_MIN: Duration = Duration::from_millis(250);
const RETRY_PAUSE_MAX: Duration = Duration::from_secs(30);

/// How often the broker hears that this client is there.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// Subscribes and stores until the server stops.
pub(crate) async fn serve(shared: Arc<Shared>) {
    let Some((host, port)) = shared.config.mqtt_broker.0.clone() else { return };
    let Some(store) = shared.wait_for_store().await else { return };
    let config = &shared.config;
    let broker = format!("{host}:{port}");
    let share = config.limits_pending_body_bytes.0 / AHEAD;
    let options = options(config, (host, port), config.limits_body_bytes.0.min(share));
    let Some(options) = options.map_err(|error| tell_wrong(&shared, &broker, &error)).ok() else {
        return;
    };
    let (mut client, mut events) = AsyncClient::new(options.clone(), REQUESTS_MAX);
    let (mut pause, mut is_connected) = (RETRY_PAUSE_MIN, false);
    let mut acks = Acks::default();
    // A store that takes nothing is tried less and less often, however well the broker answers.
    let mut refused_pause = RETRY_PAUSE_MIN;
    // What births said takes as much as a message that is read ahead.
    let mut births = Births::new(usize::try_from(share).unwrap_or(usize::MAX));
    loop {
        acks.send(&client);
        let event = tokio::select! {
            event = events.poll() => event,
            () = shared.stopping() => break,
        };
        match event {
            Ok(Event::Incoming(Packet::ConnAck(_))) => {
                log::info!("connected to the MQTT broker {broker}");
                if !std::mem::replace(&mut is_connected, true) {
                    shared.metrics.mqtt_connected.add(1);
                }
                // Who was born anew meanwhile may have given its numbers to other names.
                births.clear();
                acks.clear();
                *shared.broker_trouble.lock() = None;
                pause = RETRY_PAUSE_MIN;
                subscribe(&shared, &client);
            }
            Ok(Event::Incoming(Packet::Publish(message))) => {
                let is_stored = receive(&shared, store, &client, &mut births, &message).await;
                let is_due = message.qos != QoS::AtMostOnce;
                if is_stored && is_due {
                    acks.push(&message);
                    refused_pause = RETRY_PAUSE_MIN;
                }
                if (is_stored || !is_due) && acks.0.len() <= ACKS_MAX {
                    continue;
                }
                // What was not acknowledged the broker sends again on another connection alone.
                (client, events) = AsyncClient::new(options.clone(), REQUESTS_MAX);
                acks.clear();
                count_loss(&shared, &mut is_connected);
                *shared.broker_trouble.lock() = Some(format!(
                    "a message of the MQTT broker {broker} was not stored, and is asked for again"
                ));
                if !rest(&shared, &mut refused_pause).await {
                    break;
                }
            }
            Ok(_) => {}
            Err(error) => {
                shared.metrics.mqtt_failures.add(1);
                count_loss(&shared, &mut is_connected);
                tell_failure(&shared, &broker, &error.to_string());
                if !rest(&shared, &mut pause).await {
                    break;
                }
            }
        }
    }
    leave(&client, &mut events).await;
}

/// Counts a connection that has ended.
fn count_loss(shared: &Shared, is_connected: &mut bool) {
    if std::mem::take(is_connected) {
        shared.metrics.mqtt_connected.subtract(1);
    }
}

/// Waits before the next connection, and longer the next time; whether there is to be one.
async fn rest(shared: &Shared, pause: &mut Duration) -> bool {
    let slept = tokio::select! {
        () = tokio::time::sleep(*pause) => true,
        () = shared.stopping() => false,
    };
    *pause = (*pause * 2).min(RETRY_PAUSE_MAX);
    slept
}

/// How the broker is spoken to, by the settings.
fn options(
    config: &Config,
    (host, port): (String, u16),
    message_bytes: u64,
) -> Result<MqttOptions, String> {
    let message_bytes = usize::try_from(message_bytes).unwrap_or(usize::MAX);
    let mut options = MqttOptions::new(config.mqtt_client_id.0.clone(), host, port);
    options
        .set_keep_alive(KEEP_ALIVE)
        .set_clean_session(false)
        .set_manual_acks(true)
        .set_inflight(INFLIGHT_MAX)
        .set_max_packet_size(message_bytes, message_bytes);
    if !config.mqtt_user.0.is_empty() {
        options.set_credentials(config.mqtt_user.0.clone(), config.mqtt_password.0.clone());
    }
    if config.mqtt_tls {
        let ca = Some(Path::new(&config.mqtt_ca.0)).filter(|path| !path.as_os_str().is_empty());
        let tls = tls::client(ca)?;
        options.set_transport(Transport::tls_with_config(TlsConfiguration::Rustls(tls)));
    }
    Ok(options)
}

/// Tells that the settings of a broker lead nowhere.
fn tell_wrong(shared: &Shared, broker: &str, error: &str) {
    *shared.broker_trouble.lock() =
        Some(format!("nothing is taken from the MQTT broker {broker}: {error}"));
    log::error!("no messages are taken from the broker: {error}");
}

fn tell_failure(shared: &Shared, broker: &str, error: &str) {
    let hint = match error.contains("NotAuthorized") {
        true => "; see mqtt.user and mqtt.password",
        false => "",
    };
    *shared.broker_trouble.lock() = Some(format!(
        "nothing is taken from the MQTT broker {broker}, which is tried again: {error}{hint}"
    ));
    if let Some(silent) = shared.failures_log.admit("mqtt", "broker") {
        log::error!("MQTT broker {broker}: {error}{hint} ({silent} more reports kept silent)");
    }
}

fn subscribe(shared: &Shared, client: &AsyncClient) {
    for topic in &shared.config.mqtt_topics.0 {
        if let Err(error) = client.try_subscribe(topic, QoS::AtLeastOnce) {
            log::error!("cannot subscribe to {topic}: {error}");
        }
    }
}

/// Acknowledgements that are to be sent. Whoever waited for room for one would wait for itself: the
/// task that receives messages is the one that sends, too.
#[derive(Default)]
struct Acks(VecDeque<Publish>);

impl Acks {
    fn push(&mut self, message: &Publish) {
        // The number is all that is told; what the message held is not kept for it.
        let mut ack = Publish::new("", message.qos, Vec::new());
        ack.pkid = message.pkid;
        self.0.push_back(ack);
    }

    /// Hands over as many as there is room for.
    fn send(&mut self, client: &AsyncClient) {
        while let Some(ack) = self.0.front() {
            if client.try_ack(ack).is_err() {
                return;
            }
            self.0.pop_front();
        }
    }

    /// Forgets those of a connection that has ended.
    fn clear(&mut self) {
        self.0.clear();
    }
}

/// Stores a message; whether it may be acknowledged. One that the store cannot take now may not.
async fn receive(
    shared: &Shared,
    store: &Store,
    client: &AsyncClient,
    births: &mut Births,
    message: &Publish,
) -> bool {
    shared.metrics.mqtt_messages.add(1);
    // A large one must not hold up what else its thread does.
    let (topic, payload) = (&message.topic, &message.payload);
    let work = || senders::under_topic(topic, || take(shared, store, births, topic, payload));
    let (outcome, unborn) = ingest::heavy(shared, message.payload.len(), work).await;
    if let Some(command) = unborn
        && !ask_for_births(shared, client, &command)
        && let Some(Ok(topic)) = Topic::read(&message.topic)
    {
        births.unask(&topic);
    }
    let stored = match outcome {
        Ok(None) => Ok(()),
        Ok(Some(commit)) => {
            store.wait(commit, Ack::Durable).await.map_err(|error| error.to_string())
        }
        Err(reason) => Err(reason),
    };
    if let Err(reason) = &stored
        && let Some(silent) = shared.failures_log.admit("mqtt", "store")
    {
        log::error!("an MQTT message was not stored: {reason} ({silent} more reports kept silent)");
    }
    stored.is_ok()
}

/// What to wait for before a message is acknowledged.
type Stored = Result<Option<Commit>, String>;

/// Stores a message. Beside what became of it: the topic under which a node is to be asked for its
/// births.
fn take(
    shared: &Shared,
    store: &Store,
    births: &mut Births,
    topic: &str,
    payload: &[u8],
) -> (Stored, Option<String>) {
    let templates = &shared.config.mqtt_templates.0;
    match templates.iter().find_map(|template| template.line(topic, payload)) {
        Some(Ok(line)) => return (take_lines(shared, store, line.as_bytes()), None),
        Some(Err(why)) => {
            reject(shared, 1, "message", why.to_owned(), payload);
            return (Ok(None), None);
        }
        None => {}
    }
    match Topic::read(topic) {
        Some(Ok(topic)) => take_sparkplug(shared, store, births, &topic, payload),
        Some(Err(why)) => {
            reject(shared, 1, "message", why.to_owned(), &[]);
            (Ok(None), None)
        }
        None => (take_text(shared, store, payload), None),
    }
}

/// Stores the metrics of a message of Sparkplug's, one by one.
fn take_sparkplug(
    shared: &Shared,
    store: &Store,
    births: &mut Births,
    topic: &Topic<'_>,
    bytes: &[u8],
) -> (Stored, Option<String>) {
    if topic.news == News::Other {
        return (Ok(None), None);
    }
    let payload = match SparkplugPayload::parse(bytes) {
        Ok(payload) => payload,
        Err(why) => {
            reject(shared, 1, "message", format!("no payload of Sparkplug's: {why}"), &[]);
            return (Ok(None), None);
        }
    };
    shared.metrics.mqtt_births_forgotten.add(births.learn(topic, &payload));
    if topic.news == News::Death {
        return (Ok(None), None);
    }
    let (mut rejects, mut lines, mut commit) = (Vec::new(), Vec::new(), None);
    let (mut is_unborn, birth) = (false, births.of(topic));
    let sent_ms = payload.timestamp_ms.unwrap_or_else(now_ms);
    for (number, metric) in (1..).zip(payload.metrics()) {
        if let Err(refused) = sparkplug::push_line(topic, birth, &metric, sent_ms, &mut lines) {
            is_unborn |= matches!(refused, Refused::Unborn(_));
            let (field, reason) = refused.told();
            rejects.push(Reject { line: number, field: Cow::Borrowed(field), reason });
        }
        if rejects.len() >= REJECTS_MAX {
            tell_rejects(shared, &mut rejects);
        }
        if lines.len() >= PIECE_BYTES {
            match take_lines(shared, store, &lines) {
                Ok(stored) => commit = stored.or(commit),
                Err(failure) => return (Err(failure), None),
            }
            lines.clear();
        }
    }
    tell_rejects(shared, &mut rejects);
    let may_ask = is_unborn && topic.news == News::Data && shared.config.mqtt_rebirth;
    let unborn = may_ask.then(|| births.ask(topic, Instant::now())).flatten();
    (take_lines(shared, store, &lines).map(|stored| stored.or(commit)), unborn)
}

fn now_ms() -> u64 {
    u64::try_from(now_ns() / NANOS_PER_MILLI).unwrap_or_default()
}

/// Publishes the command that has a node say its births again. A node that is not reached is asked
/// again for its next message.
fn ask_for_births(shared: &Shared, client: &AsyncClient, command: &str) -> bool {
    let asked = client.try_publish(command, QoS::AtMostOnce, false, sparkplug_rebirth(now_ms()));
    match &asked {
        Ok(()) => {
            shared.metrics.mqtt_rebirths.add(1);
            log::info!("an edge node is asked for its births at {command}");
        }
        Err(error) => log::debug!("cannot ask for births: {error}"),
    }
    asked.is_ok()
}

fn take_text(shared: &Shared, store: &Store, payload: &[u8]) -> Stored {
    let is_json = matches!(payload.trim_ascii_start().first(), Some(b'[' | b'{'));
    if !is_json {
        return take_lines(shared, store, payload);
    }
    let mut lines = Vec::new();
    let refused = puts_of_json(payload, &mut lines).unwrap_or(1);
    for line in 0..refused {
        reject(shared, line, "point", "not a point in JSON".to_owned(), payload);
    }
    take_lines(shared, store, &lines)
}

fn reject(shared: &Shared, line: u32, field: &'static str, reason: String, payload: &[u8]) {
    let rejects = [Reject { line, field: Cow::Borrowed(field), reason }];
    shared.metrics.way(Way::Mqtt).count_rejects(&rejects);
    log_rejects(shared, Way::Mqtt, &rejects, &|_| Some(payload));
}

fn tell_rejects(shared: &Shared, rejects: &mut Vec<Reject>) {
    shared.metrics.way(Way::Mqtt).count_rejects(rejects);
    log_rejects(shared, Way::Mqtt, rejects, &|_| None);
    rejects.clear();
}

fn take_lines(shared: &Shared, store: &Store, text: &[u8]) -> Stored {
    let namespace = store.default_namespace().map_err(|missing| missing.to_string())?;
    let how = Text {
        way: Way::Mqtt,
        is_whole: true,
        is_bare: false,
        patience: PATIENCE,
        scope: &Measurements::All,
    };
    let (mut done, mut commit) = (0, None);
    while let Some(rest) = text.get(done..).filter(|rest| !rest.is_empty()) {
        let taken = ticktock::take(shared, store, namespace, rest, how);
        if let Some(failure) = taken.failure {
            return Err(failure.to_string());
        }
        commit = taken.commit.or(commit);
        done += taken.bytes;
        if taken.bytes == 0 {
            break;
        }
    }
    Ok(commit)
}

/// Says good-bye, so that the broker keeps what comes for the next time.
async fn leave(client: &AsyncClient, events: &mut EventLoop) {
    if client.disconnect().await.is_ok() {
        let farewell = async { while events.poll().await.is_ok() {} };
        let _ = tokio::time::timeout(Duration::from_secs(1), farewell).await;
    }
}
