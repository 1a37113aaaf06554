//! Kinds of settings that say how long samples are kept.

use super::setting::{ByteSize, Setting};
use foliot_engine::RetentionRule;
use std::time::Duration;

/// Units of times that samples are kept, in seconds.
const KEEP_UNITS: [(&str, u64); 7] = [
    ("s", 1),
    ("m", 60),
    ("h", 3600),
    ("d", 86_400),
    ("w", 7 * 86_400),
    ("mo", 30 * 86_400),
    ("y", 365 * 86_400),
];
/// Least time that samples are kept, as InfluxDB has it for policies: less is a mistake, which
/// would take away all that is stored before anybody looks at it.
const KEEP_SECONDS_MIN: u64 = 3600;
const FOREVER: &str = "forever";
const NONE: &str = "none";

/// How long samples are kept; nothing is for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep(pub Option<Duration>);

impl Setting for Keep {
    const KIND: &'static str = "time with a unit (`30d`, `6mo`, `1y`), or `forever`";
    fn read(text: &str) -> Result<Self, String> {
        if text.trim() == FOREVER {
            return Ok(Self(None));
        }
        let text = text.trim();
        let unit = text.trim_start_matches(|c: char| c.is_ascii_digit());
        let digits = text.strip_suffix(unit).unwrap_or(text);
        let seconds =
            KEEP_UNITS.iter().find(|(name, _)| *name == unit).map(|(_, seconds)| *seconds);
        let keep = digits.parse::<u64>().ok().zip(seconds);
        if keep.is_some_and(|(number, _)| number == 0) {
            return Err(format!(
                "'{text}' would keep nothing: say how long, such as 30d, 6mo or 1y, or forever"
            ));
        }
        match keep.and_then(|(number, seconds)| number.checked_mul(seconds)) {
            Some(seconds) if seconds < KEEP_SECONDS_MIN => Err(format!(
                "'{text}' would take samples away before anybody looks at them: keep them for an \
                 hour (1h) at least, such as 30d, 6mo or 1y, or forever"
            )),
            Some(seconds) => Ok(Self(Some(Duration::from_secs(seconds)))),
            // A plain number would be seconds elsewhere: nobody means to keep samples for thirty.
            _ => Err(format!(
                "'{text}' is not a time with a unit of s, m, h, d, w, mo (30 days) or y \
                 (365 days) such as 12h, 30d, 6mo or 1y, and not forever"
            )),
        }
    }
    fn show(&self) -> String {
        self.0.map_or_else(|| FOREVER.to_owned(), |keep| keep.show())
    }
}

/// Least size of a store: a number without its unit is a mistake, which would remove everything.
const CAP_BYTES_MIN: u64 = 1 << 20;

/// Bytes that parts may take; nothing is no bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cap(pub Option<u64>);

impl Setting for Cap {
    const KIND: &'static str = "bytes (`20GB`), or `none`";
    fn read(text: &str) -> Result<Self, String> {
        match text.trim() {
            NONE => Ok(Self(None)),
            text => match ByteSize::read(text)?.0 {
                size if size < CAP_BYTES_MIN => Err(format!(
                    "{size} bytes would keep next to nothing: give a size with its unit (`20GB`) \
                     of 1MiB or more, or `none`"
                )),
                size => Ok(Self(Some(size))),
            },
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
        self.0.iter().map(shown).collect::<Vec<_>>().join("; ")
    }
}

impl KeepRules {
    /// Rules that decide nothing, because one before them fits all series that they fit: a sentence
    /// for each.
    pub(super) fn idle(&self) -> impl Iterator<Item = String> {
        self.0.iter().enumerate().filter_map(|(at, rule)| {
            let first = self.0.iter().take(at).find(|first| has_all_of(first, rule))?;
            Some(format!(
                "retention.rules: {} has no effect: {} stands before it and fits the same series; \
                 put the narrower rule first",
                shown(rule),
                shown(first)
            ))
        })
    }
}

/// Whether a rule surely fits all series that another one fits.
fn has_all_of(rule: &RetentionRule, other: &RetentionRule) -> bool {
    let is_label = |(name, value): &(String, String)| {
        let mut labels = other.labels.iter();
        labels.any(|(own, of)| own == name && (of == value || value == "*"))
    };
    (rule.measurement == "*" || rule.measurement == other.measurement)
        && rule.labels.iter().all(is_label)
}

/// A rule as it is written.
fn shown(rule: &RetentionRule) -> String {
    let pairs: Vec<_> = rule.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let labels = if pairs.is_empty() { String::new() } else { format!("{{{}}}", pairs.join(",")) };
    format!("{}{labels}={}", rule.measurement, Keep(rule.keep).show())
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
    fn rules_behind_wider_ones_decide_nothing() {
        let idle = |text: &str| KeepRules::read(text).unwrap().idle().collect::<Vec<_>>();
        for apart in ["a=1d; b=2d", "a{x=1}=1d; a=2d", "a{x=1}=1d; a{x=2}=2d", "a*=1d; b=2d"] {
            assert!(idle(apart).is_empty(), "{apart}");
        }
        for (text, rule, first) in [
            ("*=1d; audit=forever", "audit=forever", "*=1d"),
            ("a=1d; a=2d", "a=2d", "a=1d"),
            ("b=3d; a{x=1}=1d; a{x=1,y=2}=2d", "a{x=1,y=2}=2d", "a{x=1}=1d"),
            ("*{x=*}=1d; a{x=1}=2d", "a{x=1}=2d", "*{x=*}=1d"),
        ] {
            let told = idle(text);
            assert_eq!(told.len(), 1, "{text}: {told:?}");
            let expected =
                format!("retention.rules: {rule} has no effect: {first} stands before it");
            assert!(told[0].starts_with(&expected), "{told:?}");
        }
    }

    #[test]
    fn times_and_caps_come_back() {
        for text in ["30d", "12h", "forever"] {
            assert_eq!(Keep::read(text).unwrap().show(), text);
        }
        for (text, days) in [("2w", 14), ("6mo", 180), ("1y", 365)] {
            let keep = Duration::from_secs(days * 86_400);
            assert_eq!(Keep::read(text), Ok(Keep(Some(keep))), "{text}");
            assert_eq!(Keep::read(&Keep(Some(keep)).show()), Ok(Keep(Some(keep))));
        }
        for bad in ["10ms", "30", "0d", "d", "-5d", "99999999999999999999y"] {
            let error = Keep::read(bad).unwrap_err();
            assert!(error.contains("6mo"), "{error}");
        }
        for short in ["1s", "3599s", "59m"] {
            let error = Keep::read(short).unwrap_err();
            assert!(error.contains("an hour (1h) at least"), "{error}");
            let error = KeepRules::read(&format!("cpu={short}")).unwrap_err();
            assert!(error.contains("an hour (1h) at least"), "{error}");
        }
        assert_eq!(Keep::read("60m"), Ok(Keep(Some(Duration::from_secs(3600)))));
        for text in ["20GB", "none"] {
            assert_eq!(Cap::read(text).unwrap().show(), text);
        }
    }
}
