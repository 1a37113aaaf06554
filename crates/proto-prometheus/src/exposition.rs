//! The newest samples of series, in the text in which targets expose theirs.

use crate::answer::number;
use crate::escaping::Escaping;
use crate::promql::STALE;
use foliot_model::{Frame, Matcher, NANOS_PER_MILLI};
use foliot_plan::grid::name;
use std::collections::BTreeMap;

/// A label that Prometheus adds without a value, so that whoever scrapes it does not put its own.
const INSTANCE: &str = "instance";

/// Series with a sample each, by name and labels; each once.
#[derive(Debug)]
pub struct Exposition {
    escaping: Escaping,
    /// Labels of each series that has none of their names itself.
    external: BTreeMap<String, String>,
    /// Value and time of each series.
    series: BTreeMap<(String, String), String>,
}

impl Exposition {
    /// Nothing yet, of a server that gives its series these labels, with names that are escaped.
    pub fn new(mut external: BTreeMap<String, String>, escaping: Escaping) -> Self {
        external.entry(INSTANCE.to_owned()).or_default();
        Self { escaping, external, series: BTreeMap::new() }
    }

    /// Adds the last sample of a piece of a series, unless its name is not wanted. It goes before
    /// those of earlier pieces; one that marks the series as over takes it away. Says how many
    /// bytes that takes.
    pub fn add(&mut self, names: &[Matcher], frame: &Frame) -> usize {
        let name = &*name(&frame.head.measurement, &frame.head.field);
        let last = frame.samples.iter().last();
        let Some((at_ns, value)) = last.and_then(|(at_ns, value)| Some((at_ns, value.as_f64()?)))
        else {
            return 0;
        };
        if !names.iter().all(|matcher| matcher.matches(Some(name))) {
            return 0;
        }
        let mut labels = String::new();
        for label in frame.head.labels.iter() {
            push_label(&self.escaping.escape(&label.name), &label.value, &mut labels);
        }
        for (name, value) in &self.external {
            if !frame.head.labels.iter().any(|label| &*label.name == name) {
                push_label(&self.escaping.escape(name), value, &mut labels);
            }
        }
        let key = (self.escaping.escape(name).into_owned(), labels);
        if value.to_bits() == STALE {
            self.series.remove(&key);
            return 0;
        }
        let sample = format!("{} {}", number(value), at_ns.div_euclid(NANOS_PER_MILLI));
        let bytes = key.0.len() + key.1.len() + sample.len();
        self.series.insert(key, sample);
        bytes
    }

    /// The text, line by line; a line says the kind of what has a new name.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        let mut before = None;
        self.series.iter().map(move |((name, labels), sample)| {
            let is_plain = is_name(name);
            let shown = if is_plain { name.clone() } else { quoted(name) };
            let line = match is_plain {
                true => format!("{shown}{{{labels}}} {sample}\n"),
                false => format!("{{{shown},{labels}}} {sample}\n"),
            };
            match before.replace(name) == Some(name) {
                true => line,
                false => format!("# TYPE {shown} untyped\n{line}"),
            }
        })
    }
}

fn push_label(name: &str, value: &str, out: &mut String) {
    if !out.is_empty() {
        out.push(',');
    }
    match is_name(name) && !name.contains(':') {
        true => out.push_str(name),
        false => out.push_str(&quoted(name)),
    }
    out.push('=');
    out.push_str(&quoted(value));
}

/// Whether a name needs no quotes.
fn is_name(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    name.chars().all(is_part) && !name.starts_with(|c: char| c.is_ascii_digit())
}

fn quoted(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{text}\"")
}
