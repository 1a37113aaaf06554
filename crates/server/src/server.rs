//! The server as a whole: bind, open, wait, stop.

use crate::aside::aside;
use crate::config::{Config, Told};
use crate::errands::Errand;
use crate::http::Dialect;
use crate::listen::{self, Accepts, Places};
use crate::loops::Loops;
use crate::monitor::{self, Monitor};
use crate::reload::reload;
use crate::shared::Shared;
use crate::store::Store;
use crate::tls::Tls;
use crate::{continuous, history, host, manager, mqtt, opening, statsd, udp};
use foliot_engine::{Engine, Opening};
use foliot_proto_opentsdb::BuildInfo;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Semaphore, mpsc};

/// How long connections may take to finish what they began once the server stops. With the store's
/// own closing this stays below the ten seconds that service managers commonly wait.
const DRAIN_SECONDS_MAX: Duration = Duration::from_secs(7);

/// How often it is looked whether the certificate's files have changed.
const CERTIFICATE_PERIOD: Duration = Duration::from_secs(60);

/// Descriptors that files of the store may take beside connections.
const FILES_RESERVED: u64 = 256;

/// A running server.
#[derive(Debug)]
pub struct Server {
    loops: Loops,
    shared: Arc<Shared>,
    listeners: Vec<Listener>,
    /// Ends when the last connection has dropped its sender.
    all_done: mpsc::Receiver<()>,
    /// Until somebody waits for them.
    signals: Option<Signals>,
}

/// What is listened on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    /// The address, with the port that the system chose if it was given as 0.
    pub address: SocketAddr,
    /// What is spoken there, for a person.
    pub speaks: &'static str,
}

/// Why the server could not start: a sentence.
#[derive(Debug)]
pub struct Stop(String);

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Stop {}

/// What was known and made when the program was built.
#[derive(Debug)]
pub struct Built {
    /// What it says about itself.
    pub info: BuildInfo,
    /// The pages below `/docs`.
    pub documents: Documents,
}

/// Pages by their paths, gzipped.
pub type Documents = &'static [(&'static str, &'static [u8])];

impl Server {
    /// Listens on all configured addresses and answers that the store is not there yet. `settings`
    /// are those of `config`, with where they came from.
    ///
    /// # Errors
    /// When an address cannot be had.
    pub fn bind(config: Config, settings: Vec<Told>, built: Built) -> Result<Self, Stop> {
        let loops = Loops::start().map_err(|error| Stop(format!("no threads: {error}")))?;
        let within = loops.first().enter();
        let connections = connections_max(config.limits_connections);
        let tls = Tls::open(&config).map_err(Stop)?;
        let monitor = Monitor::open(&config, &built.info.host).map_err(Stop)?;
        let shared = Arc::new(Shared::new(config, settings, built, (tls, monitor)));
        let (alive, all_done) = mpsc::channel(1);
        let places = Places::new(connections);
        let mut listeners = Vec::new();
        let config = &shared.config;
        let main = (config.listen_address, Accepts::Everything, "HTTP, telnet, Influx lines");
        let http = http_only(config);
        let ticktock = config.listen_ticktock.0.iter();
        let ticktock =
            ticktock.map(|&address| (address, Accepts::TickTock, "TickTock: HTTP, put, lines"));
        let graphite = config.listen_graphite.0;
        let graphite =
            graphite.map(|address| (address, Accepts::Graphite, "Graphite: lines, pickle"));
        let all = std::iter::once(main).chain(http).chain(ticktock).chain(graphite);
        let mut datagrams = Vec::new();
        for (address, accepts, speaks) in all {
            let listener = listen::listen(address)
                .map_err(|error| Stop(cannot_listen(address, accepts.flag(), &error)))?;
            let address = listener.local_addr().unwrap_or(address);
            listeners.push(Listener { address, speaks });
            match accepts {
                Accepts::Everything => datagrams.push((address, Dialect::Everyone)),
                Accepts::TickTock => datagrams.push((address, Dialect::TickTock)),
                Accepts::Http(..) | Accepts::Graphite => {}
            }
            let accepting = (shared.clone(), places.clone(), loops.places().clone());
            tokio::spawn(listen::accept(accepting, listener, accepts, alive.clone()));
        }
        for (address, dialect) in datagrams.into_iter().filter(|_| config.listen_udp) {
            let socket = loops
                .first()
                .block_on(UdpSocket::bind(address))
                .map_err(|error| Stop(cannot_listen(address, "--listen", &error)))?;
            listeners.push(Listener { address, speaks: "UDP datagrams of put lines" });
            tokio::spawn(udp::serve(shared.clone(), socket, dialect));
        }
        if let Some(address) = config.listen_statsd.0 {
            let socket = loops
                .first()
                .block_on(UdpSocket::bind(address))
                .map_err(|error| Stop(cannot_listen(address, "--listen-statsd", &error)))?;
            let address = socket.local_addr().unwrap_or(address);
            listeners.push(Listener { address, speaks: "UDP datagrams of statsd" });
            tokio::spawn(statsd::serve(shared.clone(), socket, alive.clone()));
        }
        if config.mqtt_broker.0.is_some() {
            tokio::spawn(mqtt::serve(shared.clone()));
        }
        tokio::spawn(opening::tell(shared.clone()));
        tokio::spawn(continuous::serve(shared.clone()));
        tokio::spawn(monitor::serve(shared.clone()));
        tokio::spawn(watch_certificate(shared.clone()));
        tokio::spawn(history::keep(shared.clone()));
        if config.agent_host {
            tokio::spawn(host::serve(shared.clone()));
        }
        let signals = Signals::receive();
        let signals = signals.map_err(|error| Stop(format!("cannot receive signals: {error}")))?;
        drop(within);
        Ok(Self { loops, shared, listeners, all_done, signals: Some(signals) })
    }

    /// What is listened on; the main one first.
    pub fn listeners(&self) -> &[Listener] {
        &self.listeners
    }

    /// What is to be told of how far the store is on its way: whoever asks meanwhile hears it.
    pub fn opening(&self) -> &Opening {
        &self.shared.opening
    }

    /// Begins to serve: the store has recovered. Tells the token that may do everything as long as
    /// everybody is asked and there is no administrator.
    ///
    /// # Errors
    /// When the system has no randomness for that.
    pub fn open(&self, engine: Arc<Engine>) -> Result<Option<String>, Stop> {
        let first = self.shared.gate.open(&engine);
        self.shared.open(Store::new(engine, &self.shared.config));
        first.map_err(|error| Stop(error.to_string()))
    }

    /// Waits for SIGTERM or SIGINT. SIGUSR1 flushes what is in memory to parts meanwhile, SIGUSR2
    /// merges parts as far as it goes, SIGHUP reads the certificate and, by `read`, the settings
    /// again, which are those `in_use`. After this returns, a second signal ends the process at
    /// once. A service manager hears when the server is ready, alive and stopping.
    pub fn wait(&mut self, in_use: Config, read: fn() -> Result<Config, String>) {
        let Some(Signals {
            mut terminate,
            mut interrupt,
            mut flush_now,
            mut merge_now,
            reload_now,
        }) = self.signals.take()
        else {
            return;
        };
        let reloading = reload_when_asked(self.shared.clone(), reload_now, in_use, read);
        self.loops.first().spawn(reloading);
        let flush = Errand::new("flush", Engine::flush, None);
        let merge = Errand::new("merge", Engine::merge_all, Some(Engine::unmerged_bytes));
        manager::say_ready();
        self.loops.first().block_on(async {
            let feeding = manager::feed_watchdog(self.loops.places());
            tokio::pin!(feeding);
            let by = loop {
                tokio::select! {
                    () = &mut feeding => {}
                    _ = terminate.recv() => break "SIGTERM",
                    _ = interrupt.recv() => break "SIGINT",
                    _ = flush_now.recv() => flush.ask(&self.shared),
                    _ = merge_now.recv() => merge.ask(&self.shared),
                }
            };
            log::info!("stopping: {by} came");
            manager::say_stopping();
            tokio::spawn(end_at_second(terminate, interrupt));
        });
    }

    /// Stops accepting, lets connections finish what they began, and ends all tasks.
    pub fn stop(mut self) {
        self.shared.stop();
        let done = async {
            let waiting = tokio::time::timeout(DRAIN_SECONDS_MAX, self.all_done.recv());
            if waiting.await.is_err() {
                log::warn!("some connections did not finish in time and are cut off");
            }
        };
        self.loops.first().block_on(done);
        self.loops.end(Duration::from_millis(500));
    }
}

/// The signals that are heard, from before anyone is told that the server runs: one that comes
/// earlier than [`Server::wait`] is kept until then.
#[derive(Debug)]
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    flush_now: Signal,
    merge_now: Signal,
    reload_now: Signal,
}

impl Signals {
    fn receive() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            flush_now: signal(SignalKind::user_defined1())?,
            merge_now: signal(SignalKind::user_defined2())?,
            reload_now: signal(SignalKind::hangup())?,
        })
    }
}

/// Reads again what SIGHUP asks for, on a task of its own: files may be large, or on a disk that
/// does not answer, and a stop waits for none of that. Whatever comes while it reads is one more
/// time.
async fn reload_when_asked(
    shared: Arc<Shared>,
    mut asked: Signal,
    mut in_use: Config,
    read: fn() -> Result<Config, String>,
) {
    while asked.recv().await.is_some() {
        if shared.is_stopping() {
            return;
        }
        aside(|| {
            reload(&mut in_use, read());
            if let Some(tls) = &shared.tls {
                tls.reload(true);
            }
            // What is wrong is in the log.
            let _ = shared.monitor.reload(&shared.config.prometheus_config.0);
        });
    }
}

/// Someone who signals twice does not want to wait.
async fn end_at_second(mut terminate: Signal, mut interrupt: Signal) {
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    log::warn!("second signal: ending at once");
    std::process::exit(1);
}

/// Looks once in a while whether the certificate's files have changed, until the server stops.
async fn watch_certificate(shared: Arc<Shared>) {
    while shared.tls.is_some() {
        tokio::select! {
            () = tokio::time::sleep(CERTIFICATE_PERIOD) => {
                if let Some(tls) = &shared.tls {
                    aside(|| tls.reload(false));
                }
            }
            () = shared.stopping() => return,
        }
    }
}

/// Ports that speak HTTP only, and for whom.
fn http_only(config: &Config) -> impl Iterator<Item = (SocketAddr, Accepts, &'static str)> + use<> {
    let ports = [
        (
            config.listen_influx.0,
            Accepts::Http("--listen-influx", Dialect::Everyone),
            "HTTP for InfluxDB clients",
        ),
        (
            config.listen_prometheus.0,
            Accepts::Http("--listen-prometheus", Dialect::Prometheus),
            "HTTP for Prometheus",
        ),
        (
            config.listen_victoriametrics.0,
            Accepts::Http("--listen-victoriametrics", Dialect::VictoriaMetrics),
            "HTTP for VictoriaMetrics clients",
        ),
    ];
    ports.into_iter().filter_map(|(address, accepts, speaks)| Some((address?, accepts, speaks)))
}

fn cannot_listen(address: SocketAddr, flag: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => format!(
            "{address} is in use by another process or listener; stop that one or choose another \
             {flag}"
        ),
        io::ErrorKind::PermissionDenied => {
            format!("not allowed to listen on {address}; choose a port above 1023 with {flag}")
        }
        io::ErrorKind::AddrNotAvailable => format!(
            "cannot listen on {address}: this machine has no such address; give one that it has \
             with {flag}, or 0.0.0.0 for all of them"
        ),
        _ => format!("cannot listen on {address}: {error}"),
    }
}

/// Raises the limit of open files as far as allowed, and leaves room for the store's.
fn connections_max(wanted: u64) -> usize {
    let limit = getrlimit(Resource::Nofile);
    if limit.current < limit.maximum {
        let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
        if let Err(error) = setrlimit(Resource::Nofile, raised) {
            log::debug!("cannot raise the limit of open files: {error}");
        }
    }
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let room = files.saturating_sub(FILES_RESERVED).max(files / 4).max(1);
    if room < wanted {
        log::warn!(
            "only {files} files may be open (ulimit -n), so connections are limited to {room}"
        );
    }
    usize::try_from(wanted.min(room)).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS)
}
