//! Sockets, sniffing, HTTP routes, limits and Foliot's own metrics.
//!
//! One port speaks every protocol: [`Server::bind`] listens, tells protocols apart by their first
//! bytes and answers "not ready" until [`Server::open`] hands it a store. Bytes then go one way,
//! from a door's decoder to the engine; answers come the other way, from `exec` through a door's
//! encoder.
//!
//! What the room does not know: any wire format beyond HTTP/1 itself (the doors do), any file (the
//! engine does). It is the only place where tasks wait for sockets; no thread waits for a client.

mod aside;
mod budget;
pub mod config;
mod continuous;
mod costs;
mod demand;
mod errands;
mod exemplars;
mod history;
mod host;
mod http;
mod ingest;
mod jobs;
pub mod limits;
mod lines;
mod listen;
pub mod logging;
mod login;
mod loops;
pub mod machine;
mod makers;
mod manager;
mod metrics;
pub mod monitor;
mod mqtt;
mod opening;
mod pace;
mod queries;
mod query;
mod ranks;
mod rejects;
mod relay;
mod reload;
mod replies;
mod request_line;
mod rollups;
mod senders;
mod server;
mod shared;
mod sniff;
mod statsd;
mod store;
mod stream;
mod telnet;
mod ticktock;
mod tls;
mod udp;
mod waiting;
mod wire;

pub use aside::aside_of_store;
pub use config::Config;
pub use foliot_engine::Ack;
pub use foliot_proto_opentsdb::BuildInfo;
pub use foliot_schema::DatabaseName;
pub use server::{Built, Documents, Listener, Server, Stop};
