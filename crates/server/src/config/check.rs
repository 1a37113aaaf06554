//! What settings cannot work, or not together.

use super::{ByteSize, Config, MEMORY_BYTES_MIN, Setting};
use crate::tls::Tls;
use foliot_engine::LABELS_MAX;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Most characters that a new password may be asked to have.
const PASSWORD_CHARS_MAX: u64 = 1024;

impl Config {
    /// Finds settings that contradict each other or cannot work.
    ///
    /// # Errors
    /// One sentence that names the keys.
    pub fn check(&self) -> Result<(), String> {
        self.check_listeners()?;
        if self.tls_certificate.0.is_empty() != self.tls_key.0.is_empty() {
            let missing = if self.tls_key.0.is_empty() { "tls.key" } else { "tls.certificate" };
            return Err(format!(
                "tls.certificate and tls.key are needed together: {missing} is missing"
            ));
        }
        let tls_needed = self.tls_only || !self.tls_client_ca.0.is_empty();
        if tls_needed && self.tls_certificate.0.is_empty() {
            return Err("tls.only and tls.client_ca need tls.certificate".to_owned());
        }
        self.check_pages()?;
        self.check_memory()?;
        self.check_mqtt()?;
        let positive = [
            ("limits.connections", self.limits_connections),
            ("limits.connections_per_address", self.limits_connections_per_address),
            ("limits.queries", self.limits_queries),
            ("limits.labels", self.limits_labels),
            ("limits.series", self.limits_series),
            ("limits.registry_bytes", self.limits_registry_bytes.0.unwrap_or(u64::MAX)),
            ("limits.body_bytes", self.limits_body_bytes.0),
            ("limits.decoded_body_bytes", self.limits_decoded_body_bytes.0),
            ("limits.pending_body_bytes", self.limits_pending_body_bytes.0),
            ("limits.pending_query_bytes", self.limits_pending_query_bytes.0),
            ("limits.query_memory_bytes", self.limits_query_memory_bytes.0),
            ("limits.query_seconds", self.limits_query_seconds.as_nanos() as u64),
            ("limits.query_samples", self.limits_query_samples),
            ("limits.answer_bytes", self.limits_answer_bytes.0),
        ];
        if let Some((key, _)) = positive.iter().find(|(_, value)| *value == 0) {
            return Err(format!("{key} is 0, which would refuse everything: give more"));
        }
        if self.merge_parts < 2 || self.merge_share == 0 || self.merge_share > 100 {
            return Err("merge.parts must be at least 2, merge.share between 1 and 100".to_owned());
        }
        self.check_requests()?;
        let intervals =
            [("agent.interval", self.agent_interval), ("statsd.interval", self.statsd_interval)];
        if let Some((key, _)) = intervals.iter().find(|(_, time)| *time < Duration::from_secs(1)) {
            return Err(format!("{key} must be at least 1s"));
        }
        Ok(())
    }
}

/// Whether the system gives two listeners no port each: the same one at the same address, or at all
/// addresses, which in IPv6 has those of IPv4 in it. Port 0 is another one each time.
fn meet(one: SocketAddr, other: SocketAddr) -> bool {
    let (a, b) = (one.ip().to_canonical(), other.ip().to_canonical());
    let has = |all: IpAddr, ip: IpAddr| all.is_unspecified() && (all.is_ipv6() || ip.is_ipv4());
    one.port() == other.port() && one.port() != 0 && (a == b || has(a, b) || has(b, a))
}

impl Config {
    fn check_listeners(&self) -> Result<(), String> {
        let listeners = [
            ("listen.address", Some(self.listen_address)),
            ("listen.influx", self.listen_influx.0),
            ("listen.prometheus", self.listen_prometheus.0),
            ("listen.victoriametrics", self.listen_victoriametrics.0),
            ("listen.graphite", self.listen_graphite.0),
        ];
        let ticktock = self.listen_ticktock.0.iter();
        let ticktock = ticktock.map(|&address| ("listen.ticktock", Some(address)));
        let listeners = listeners.into_iter().chain(ticktock);
        let mut taken: Vec<(&str, SocketAddr)> = Vec::new();
        for (key, address) in listeners.filter_map(|(key, address)| Some((key, address?))) {
            if let Some((other, place)) = taken.iter().find(|(_, place)| meet(*place, address)) {
                return Err(format!(
                    "{key} is {address}, and {other} is {place}: two listeners cannot share a \
                     port; give one of them another"
                ));
            }
            taken.push((key, address));
        }
        // Datagrams have ports of their own.
        let datagrams = self.listen_statsd.0.map(|address| ("listen.statsd", address));
        let takes_puts = |key: &str| matches!(key, "listen.address" | "listen.ticktock");
        let mut of_udp = taken.iter().filter(|(key, _)| self.listen_udp && takes_puts(key));
        if let Some((key, address)) = datagrams
            && let Some((other, place)) = of_udp.find(|(_, place)| meet(*place, address))
        {
            return Err(format!(
                "{key} is {address}, and listen.udp takes datagrams at {place}, as {other} has it: \
                 give one of them another port"
            ));
        }
        for (key, address) in taken.into_iter().chain(datagrams) {
            let is_exposed = !address.ip().is_loopback();
            if is_exposed && !self.listen_insecure && !self.access_enabled {
                return Err(format!(
                    "{key} is {address}, which other machines can reach without a password: \
                     listen on 127.0.0.1, ask for passwords with --access, or add --insecure"
                ));
            }
        }
        Ok(())
    }

    /// What pages and people say of this server.
    fn check_pages(&self) -> Result<(), String> {
        let domains = &self.http_cors_domains.0;
        if domains.len() > 1 && domains.iter().any(|domain| domain == "*") {
            return Err("http.cors_domains is either * or a list of origins".to_owned());
        }
        let is_name = |name: &str| {
            let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
            !name.is_empty() && name.bytes().all(is_part)
        };
        if let Some(domain) = domains.iter().find(|domain| *domain != "*" && !is_origin(domain)) {
            return Err(format!(
                "http.cors_domains names '{domain}', which is no origin: write it as browsers do, \
                 https://dashboards.example or http://localhost:3000"
            ));
        }
        if let Some(host) = self.http_hosts.0.iter().find(|host| *host != "*" && !is_host(host)) {
            return Err(format!(
                "http.hosts names '{host}', which is no name of a machine: write it as tsdb.lan, \
                 without a port"
            ));
        }
        if self.access_password_length_min > PASSWORD_CHARS_MAX {
            return Err(format!(
                "access.password_length_min is {}, more than anybody would type: give at most \
                 {PASSWORD_CHARS_MAX}",
                self.access_password_length_min
            ));
        }
        let url = &self.prometheus_external_url.0;
        if !url.is_empty() && !["http://", "https://"].iter().any(|scheme| url.starts_with(scheme))
        {
            return Err(format!(
                "prometheus.external_url is '{url}', which is no address: write it as \
                 https://tsdb.example"
            ));
        }
        if !self.http_cors_headers.0.split(',').map(str::trim).all(is_name) {
            return Err("http.cors_headers must be names of headers, without wildcards".to_owned());
        }
        Ok(())
    }

    fn check_requests(&self) -> Result<(), String> {
        if self.limits_labels > LABELS_MAX as u64 {
            return Err(format!(
                "limits.labels is {}: a series can have at most {LABELS_MAX}",
                self.limits_labels
            ));
        }
        if self.limits_decoded_body_bytes.0 > ByteSize::REQUEST_MAX {
            return Err(format!(
                "limits.decoded_body_bytes is {}: a request can have at most 1GiB",
                self.limits_decoded_body_bytes.show()
            ));
        }
        if self.limits_line_bytes.0 < 1024 || self.limits_line_bytes.0 > 64 << 20 {
            return Err("limits.line_bytes must be between 1KiB and 64MiB".to_owned());
        }
        Ok(())
    }

    fn check_mqtt(&self) -> Result<(), String> {
        if self.mqtt_broker.0.is_some() && self.mqtt_topics.0.is_empty() {
            return Err("mqtt.broker is set, but mqtt.topics names no topic".to_owned());
        }
        if let Some(topic) = self.mqtt_topics.0.iter().find(|topic| !is_topic_filter(topic)) {
            return Err(format!(
                "mqtt.topics names '{topic}', which is no filter of topics: + stands for a whole \
                 level, # for all levels that are left, and it has at most 65535 bytes"
            ));
        }
        Ok(())
    }

    fn check_memory(&self) -> Result<(), String> {
        if let Some(memory) = self.limits_memory_bytes.0.filter(|memory| *memory < MEMORY_BYTES_MIN)
        {
            return Err(format!(
                "limits.memory_bytes is {memory} bytes, with which little would work: give at \
                 least 40MiB"
            ));
        }
        Ok(())
    }

    /// What has no effect as the settings are, a sentence for each.
    pub fn idle(&self) -> Vec<String> {
        let has_writers = !self.access_write_from.0.0.is_empty();
        [
            (
                !self.mqtt_topics.0.is_empty() && self.mqtt_broker.0.is_none(),
                "mqtt.topics has no effect: mqtt.broker names no broker",
            ),
            (
                has_writers && !self.access_enabled,
                "access.write_from has no effect: without access.enabled anybody may write",
            ),
            (
                self.listen_insecure && self.access_enabled,
                "listen.insecure has no effect: access.enabled asks for passwords",
            ),
        ]
        .into_iter()
        .filter(|(is_idle, _)| *is_idle)
        .map(|(_, what)| what.to_owned())
        .chain(self.retention_rules.idle())
        .collect()
    }

    /// Reads what settings name, as a start would, and keeps nothing.
    ///
    /// # Errors
    /// One sentence that names the file or directory.
    pub fn check_files(&self) -> Result<(), String> {
        if self.data_dir.is_file() {
            let place = self.data_dir.display();
            return Err(format!("data_dir is {place}, which is a file: name a directory"));
        }
        Tls::open(self).map(drop)
    }
}

/// Whether a text is an origin as browsers spell it.
fn is_origin(text: &str) -> bool {
    let is_host = |host: &str| !host.is_empty() && !host.contains(['/', ' ', '@']);
    text == "null" || text.split_once("://").is_some_and(|(_, host)| is_host(host))
}

/// Whether a text can be the name of a machine, as requests say it.
fn is_host(text: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_');
    text.chars().all(is_part) || text.parse::<IpAddr>().is_ok()
}

/// Whether a broker may be asked for these topics (MQTT 3.1.1, 4.7): one that breaks the rules is
/// answered by closing the connection, without a word.
fn is_topic_filter(topic: &str) -> bool {
    let levels: Vec<&str> = topic.split('/').collect();
    let is_level = |(at, level): (usize, &&str)| match *level {
        "+" => true,
        "#" => at + 1 == levels.len(),
        level => !level.contains(['+', '#', '\0']),
    };
    (1..=65_535).contains(&topic.len()) && levels.iter().enumerate().all(is_level)
}
