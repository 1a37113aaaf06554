//! Kinds of settings that say how long samples are kept.

use super::setting::{ByteSize, Setting};
use foliot_engine::RetentionRule;
use std::time::Duration;

const FOREVER: &str = "forever";
const NONE: &str = "none";

/// How long samples are kept; nothing is for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep(pub Option<Duration>);

impl Setting for Keep {
    const KIND: &'static str = "time (`30d`), or `forever`";
    fn read(text: &str) -> Result<Self, String> {
        if text.trim() == FOREVER {
            return Ok(Self(None));
        }
        match Duration::read(text) {
            Ok(keep) if keep >= Duration::from_secs(1) => Ok(Self(Some(keep))),
            _ => {
                Err(format!("'{text}' is not a time of at least 1s such as 12h or 30d, or forever"))
            }
        }
    }
    fn show(&self) -> String {
        self.0.map_or_else(|| FOREVER.to_owned(), |keep| keep.show())
    }
}

/// Bytes that parts may take; nothing is no bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cap(pub Option<u64>);

impl Setting for Cap {
    const KIND: &'static str = "bytes (`20GB`), or `none`";
    fn read(text: &str) -> Result<Self, String> {
        match text.trim() {
            NONE => Ok(Self(None)),
            text => ByteSize::read(text).map(|size| Self(Some(size.0))),
        }
    }
    fn show(&self) -> String {
        self.0.map_or_else(|| NONE.to_owned(), |bytes| ByteSize(bytes).show())
    }
}

/// Series that are kept for other times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeepRules(pub Vec<RetentionRule>);

impl Setting for KeepRules {
    const KIND: &'static str = "rules (`cpu*{env=dev}=7d; audit=forever`), or `none`";
    fn read(text: &str) -> Result<Self, String> {
        let rules = text.split(';').map(str::trim).filter(|rule| !rule.is_empty() && *rule != NONE);
        rules.map(rule).collect::<Result<_, _>>().map(Self)
    }
    fn show(&self) -> String {
        if self.0.is_empty() {
            return NONE.to_owned();
        }
        let labels = |rule: &RetentionRule| {
            let pairs: Vec<_> =
                rule.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
            if pairs.is_empty() { String::new() } else { format!("{{{}}}", pairs.join(",")) }
        };
        let shown = self.0.iter();
        let shown = shown
            .map(|rule| format!("{}{}={}", rule.measurement, labels(rule), Keep(rule.keep).show()));
        shown.collect::<Vec<_>>().join("; ")
    }
}

/// Reads `measurement{label=value,...}=time`.
fn rule(text: &str) -> Result<RetentionRule, String> {
    let bad = || format!("'{text}' is not a rule such as cpu*{{env=dev}}=7d or audit=forever");
    let (head, keep) = text.rsplit_once('=').ok_or_else(bad)?;
    let (measurement, labels) = match head.trim().split_once('{') {
        Some((measurement, rest)) => (measurement, rest.strip_suffix('}').ok_or_else(bad)?),
        None => (head.trim(), ""),
    };
    let measurement = measurement.trim();
    if measurement.contains(['=', '}']) {
        return Err(bad());
    }
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').ok_or_else(bad)?;
        Ok((name.trim().to_owned(), value.trim().to_owned()))
    };
    let labels = labels.split(',').filter(|pair| !pair.trim().is_empty()).map(pair);
    Ok(RetentionRule {
        measurement: if measurement.is_empty() { "*" } else { measurement }.to_owned(),
        labels: labels.collect::<Result<_, String>>()?,
        keep: Keep::read(keep).map_err(|error| format!("{text}: {error}"))?.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_come_back() {
        let text = "cpu*{env=dev,dc=*1}=7d; *{team=a}=12h; audit=forever";
        let rules = KeepRules::read(text).unwrap();
        assert_eq!(rules.show(), text);
        let first = &rules.0[0];
        assert_eq!((&*first.measurement, first.keep), ("cpu*", Some(Duration::from_secs(604_800))));
        assert_eq!(first.labels[1], ("dc".to_owned(), "*1".to_owned()));
        assert_eq!(rules.0[2].keep, None);
        assert_eq!(KeepRules::read("{team=a}=12h").unwrap().0, rules.0[1..2]);
        assert_eq!(KeepRules::read("none").unwrap().show(), "none");
        for bad in ["cpu", "cpu{a=b=7d", "cpu{a}=7d", "cpu=soon", "cpu=0s", "a=b=1d"] {
            assert!(KeepRules::read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn times_and_caps_come_back() {
        for text in ["30d", "12h", "forever"] {
            assert_eq!(Keep::read(text).unwrap().show(), text);
        }
        assert!(Keep::read("10ms").is_err());
        for text in ["20GB", "none"] {
            assert_eq!(Cap::read(text).unwrap().show(), text);
        }
    }
}
