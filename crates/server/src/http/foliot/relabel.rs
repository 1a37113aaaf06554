//! `relabel`: what rules make of labels, step by step. Nothing changes.

use super::monitor::check;
use super::{bad, body_of, refuse_failure};
use crate::http::{Call, Reply, reply};
use crate::query::{self, Failure, Job, Title, Work};
use crate::shared::Shared;
use foliot_exec::Ran;
use foliot_monitor::{LabelSet, Relabel, read_relabel, relabel, series_labels};
use hyper::StatusCode;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Rules that are tried at once, and the bytes of their text.
const RULES_MAX: usize = 100;
const TEXT_BYTES_MAX: usize = 16 << 10;

/// Bytes of labels, at first and after each rule: a rule may double what it finds.
const LABEL_BYTES_MAX: usize = 8 << 10;

/// What is tried.
struct Asked {
    labels: LabelSet,
    rules: Rules,
    /// Whether the labels are those of a target, or of a sample that it exposed.
    is_target: bool,
}

enum Rules {
    Text(String),
    /// Those of a job.
    Read(Vec<Relabel>),
}

impl Asked {
    fn read(shared: &Shared, body: &Map<String, Value>) -> Result<Self, Reply> {
        let labels = labels(body.get("labels"))?;
        let is_target = match body.get("of").map(Value::as_str) {
            None | Some(Some("targets")) => true,
            Some(Some("samples")) => false,
            Some(_) => return Err(bad("of: must be targets or samples")),
        };
        let rules = match (text(body, "rules")?, text(body, "job")?) {
            (Some(_), Some(_)) => return Err(bad("rules, job: one of them says what is tried")),
            (None, None) => return Err(bad("rules: which rules, as relabel_configs has them?")),
            (Some(text), None) if text.len() > TEXT_BYTES_MAX => {
                return Err(bad(&format!("rules: longer than {TEXT_BYTES_MAX} bytes")));
            }
            (Some(text), None) => Rules::Text(text.to_owned()),
            (None, Some(name)) => {
                let loaded = shared.monitor.loaded();
                let mut jobs = loaded.iter().flat_map(|loaded| &loaded.config.jobs);
                let job = jobs.find(|job| job.name == name);
                let job = job.ok_or_else(|| bad(&format!("job: none is named {name:?}")))?;
                Rules::Read(if is_target { &job.relabel } else { &job.metric_relabel }.clone())
            }
        };
        Ok(Self { labels, rules, is_target })
    }
}

fn text<'b>(body: &'b Map<String, Value>, name: &str) -> Result<Option<&'b str>, Reply> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(bad(&format!("{name}: must be a text"))),
    }
}

fn labels(given: Option<&Value>) -> Result<LabelSet, Reply> {
    let Some(Value::Object(given)) = given else {
        return Err(bad("labels: must be an object of names and values"));
    };
    let label = |(name, value): (&String, &Value)| {
        let value = value.as_str().ok_or_else(|| bad("labels: each must have a text"))?;
        Ok((name.clone(), value.to_owned()))
    };
    let mut labels = given.iter().map(label).collect::<Result<LabelSet, _>>()?;
    // As everywhere, an empty value is a label that is not there.
    labels.retain(|_, value| !value.is_empty());
    match bytes_of(&labels) > LABEL_BYTES_MAX {
        true => Err(bad(&format!("labels: longer than {LABEL_BYTES_MAX} bytes"))),
        false => Ok(labels),
    }
}

fn bytes_of(labels: &LabelSet) -> usize {
    labels.iter().map(|(name, value)| name.len() + value.len()).sum()
}

pub(super) async fn answer(shared: &Arc<Shared>, call: Call) -> Result<Reply, Reply> {
    check(shared, &call)?;
    let (who, database) = (call.who.clone(), call.database(shared));
    let body = body_of(shared, call, &["labels", "rules", "job", "of"]).await?;
    let asked = Asked::read(shared, &body)?;
    let job = Job::new(who, Some(Title::by_itself("relabelling", database)), move |work| {
        run(&asked, work)?;
        Ok(Ran::default())
    });
    let answered = query::answer(shared, reply::JSON, false, job).await;
    answered.map_err(|failure| refuse_failure(&failure))
}

fn refused(text: String) -> Failure {
    Failure::new(StatusCode::BAD_REQUEST, text)
}

fn run(asked: &Asked, work: &mut Work<'_>) -> Result<(), Failure> {
    let rules = match &asked.rules {
        Rules::Read(rules) => rules.clone(),
        Rules::Text(text) => read_relabel(text, RULES_MAX).map_err(|findings| {
            let told: Vec<String> = findings.iter().map(ToString::to_string).collect();
            refused(told.join("\n"))
        })?,
    };
    let (mut labels, mut steps, mut is_kept) = (asked.labels.clone(), Vec::new(), true);
    for (at, rule) in rules.iter().enumerate() {
        is_kept = relabel(std::slice::from_ref(rule), &mut labels);
        if bytes_of(&labels) > LABEL_BYTES_MAX {
            let number = at + 1;
            let text = format!("rule {number} makes labels longer than {LABEL_BYTES_MAX} bytes");
            return Err(refused(text));
        }
        steps.push(json!({"number": at + 1, "is_kept": is_kept, "labels": labels}));
        if !is_kept {
            break;
        }
    }
    if asked.is_target {
        labels = series_labels(labels);
    }
    let answer = json!({
        "rules": rules.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "steps": steps,
        "is_kept": is_kept,
        "labels": is_kept.then_some(labels),
    });
    work.write(answer.to_string().as_bytes())
}
