//! Names of metrics and labels, made of OpenTelemetry's.

/// Whose way it is to name what OpenTelemetry calls otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// Prometheus' own: underscores, units and kinds as suffixes, `job`, `instance` and
    /// `target_info`.
    Prometheus,
    /// VictoriaMetrics': names as they are, and all that is known of a resource as labels.
    VictoriaMetrics,
}

/// What a name tells of its metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// It only grows.
    Total,
    /// It goes up and down, and may be a ratio.
    Gauge,
    Nothing,
}

/// Words for units that are counted.
const UNITS: [(&str, &str); 25] = [
    ("d", "days"),
    ("h", "hours"),
    ("min", "minutes"),
    ("s", "seconds"),
    ("ms", "milliseconds"),
    ("us", "microseconds"),
    ("ns", "nanoseconds"),
    ("By", "bytes"),
    ("KiBy", "kibibytes"),
    ("MiBy", "mebibytes"),
    ("GiBy", "gibibytes"),
    // Prometheus' own word for it.
    ("TiBy", "tibibytes"),
    ("KBy", "kilobytes"),
    ("MBy", "megabytes"),
    ("GBy", "gigabytes"),
    ("TBy", "terabytes"),
    ("m", "meters"),
    ("V", "volts"),
    ("A", "amperes"),
    ("J", "joules"),
    ("W", "watts"),
    ("g", "grams"),
    ("Cel", "celsius"),
    ("Hz", "hertz"),
    ("%", "percent"),
];

/// Words for units that something is counted by.
const PER: [(&str, &str); 7] = [
    ("s", "second"),
    ("m", "minute"),
    ("h", "hour"),
    ("d", "day"),
    ("w", "week"),
    ("mo", "month"),
    ("y", "year"),
];

/// The metric that has this name and unit; empty when there is none.
pub(super) fn metric(naming: Naming, name: &str, unit: &str, told: Told) -> String {
    if naming == Naming::VictoriaMetrics {
        return name.to_owned();
    }
    let mut words: Vec<String> = words(name).map(str::to_owned).collect();
    for word in unit_words(unit).into_iter().flatten() {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    let last = match told {
        Told::Total => Some("total"),
        Told::Gauge if unit == "1" => Some("ratio"),
        Told::Gauge | Told::Nothing => None,
    };
    if let Some(last) = last {
        words.retain(|word| word != last);
        words.push(last.to_owned());
    }
    let joined = words.join("_");
    match joined.starts_with(|first: char| first.is_ascii_digit()) {
        true => format!("_{joined}"),
        false => joined,
    }
}

/// A unit as metrics of this naming have it; empty when there is none.
pub(super) fn unit(naming: Naming, unit: &str) -> String {
    match naming {
        Naming::VictoriaMetrics => unit.to_owned(),
        Naming::Prometheus => unit_words(unit).into_iter().flatten().collect::<Vec<_>>().join("_"),
    }
}

/// What is counted, and what it is counted by.
fn unit_words(unit: &str) -> [Option<String>; 2] {
    let (main, per) = unit.split_once('/').unwrap_or((unit, ""));
    let main = unit_word(main, &UNITS).filter(|_| main.trim() != "1");
    [main, unit_word(per, &PER).map(|word| format!("per_{word}"))]
}

/// The parts of a name that Prometheus' names may have.
fn words(name: &str) -> impl Iterator<Item = &str> {
    let is_between = |letter: char| !(letter.is_ascii_alphanumeric() || letter == ':');
    name.split(is_between).filter(|word| !word.is_empty())
}

/// The word for a unit; none for what stands in braces, which only explains.
fn unit_word(unit: &str, known: &[(&str, &str)]) -> Option<String> {
    let unit = unit.trim();
    if unit.is_empty() || unit.contains(['{', '}']) {
        return None;
    }
    let word = known.iter().find(|(short, _)| *short == unit).map_or(unit, |(_, word)| word);
    let word = words(word).collect::<Vec<_>>().join("_");
    Some(word).filter(|word| !word.is_empty())
}

/// The label of this name; empty when there is none.
pub(super) fn label(naming: Naming, name: &str) -> String {
    if naming == Naming::VictoriaMetrics {
        return name.to_owned();
    }
    let clean = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
    let cleaned: String = name.chars().map(clean).collect();
    match () {
        () if cleaned.starts_with(|first: char| first.is_ascii_digit()) => format!("key_{cleaned}"),
        () if cleaned.starts_with('_') && !cleaned.starts_with("__") => format!("key{cleaned}"),
        () => cleaned,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Prometheus' and OpenTelemetry's documents say of names, and of units behind them.
    #[test]
    fn metrics_are_named_as_prometheus_names_them() {
        for (name, unit, told, wanted) in [
            ("http.server.duration", "s", Told::Nothing, "http_server_duration_seconds"),
            ("requests.count", "1", Told::Total, "requests_count_total"),
            ("requests", "{request}", Told::Total, "requests_total"),
            ("memory.usage", "By", Told::Gauge, "memory_usage_bytes"),
            ("a.total.b", "", Told::Total, "a_b_total"),
            ("cpu.use", "1", Told::Gauge, "cpu_use_ratio"),
            ("cpu.ratio.use", "1", Told::Gauge, "cpu_use_ratio"),
            ("cpu.use", "1", Told::Nothing, "cpu_use"),
            ("net.io", "By/s", Told::Gauge, "net_io_bytes_per_second"),
            ("speed", "m/m", Told::Gauge, "speed_meters_per_minute"),
            ("rate", "{x}/h", Told::Gauge, "rate_per_hour"),
            ("time_seconds", "s", Told::Total, "time_seconds_total"),
            ("2.of", "", Told::Gauge, "_2_of"),
            ("job:a", "", Told::Gauge, "job:a"),
            ("a__b", "", Told::Gauge, "a_b"),
            ("größe", "%", Told::Gauge, "gr_e_percent"),
            ("x", "furlong^2", Told::Gauge, "x_furlong_2"),
            ("...", "", Told::Gauge, ""),
        ] {
            assert_eq!(metric(Naming::Prometheus, name, unit, told), wanted, "{name} {unit}");
            assert_eq!(metric(Naming::VictoriaMetrics, name, unit, told), name);
        }
    }

    #[test]
    fn labels_are_named_as_prometheus_names_them() {
        for (name, wanted) in [
            ("http.method", "http_method"),
            ("1a", "key_1a"),
            ("_a", "key_a"),
            ("__a", "__a"),
            ("a__b", "a__b"),
            ("ä", "key_"),
            ("", ""),
        ] {
            assert_eq!(label(Naming::Prometheus, name), wanted, "{name}");
            assert_eq!(label(Naming::VictoriaMetrics, name), name);
        }
    }
}
