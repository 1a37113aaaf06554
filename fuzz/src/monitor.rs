//! What a Prometheus does by itself: scraped texts, its files, and the templates of alerts.

use crate::store::{NOW_MS, take};
use foliot_monitor::{Config, Data, LabelSet, Row, Template, read_rules};
use foliot_proto_prometheus::{
    Exemplars, Exposed, Families, Format, Histograms, KEY_SYNTAX, Scraped,
};

/// A text in both formats. What the whole text allows, its lines must allow as well.
pub(crate) fn scraped(data: &[u8]) {
    for format in [Format::Text, Format::OpenMetrics] {
        let mut scraped = Scraped::new(data, format);
        let mut steps = 0;
        while let Ok(Some(said)) = scraped.step() {
            steps += 1;
            if let Exposed::Sample { series, .. } = said {
                let mut bytes = 0;
                let read = series.labels(&mut |name, value| bytes += name.len() + value.len());
                let text = String::from_utf8_lossy(series.bytes());
                let most = text.len() + "__name__".len() * (1 + text.matches('"').count());
                assert!(read.is_err() || bytes <= most, "{bytes} bytes of {text:?}");
            }
        }
        assert!(steps <= data.len(), "a line says one thing at most");
    }
}

/// Families of metrics. What is checked whole is stored piece by piece.
pub(crate) fn families(data: &[u8]) {
    for (native, classic) in [(false, false), (true, false), (true, true)] {
        let families = || Families::new(data, Histograms { native, classic });
        let mut samples = 0;
        let mut scraped = families();
        while let Ok(true) = scraped.step(&mut |said| {
            if let Exposed::Sample { series, .. } = said {
                samples += 1;
                series.labels(&mut |_, _| {}).expect("what was read has labels");
            }
            Ok(())
        }) {}
        let Ok(count) = families().check() else { continue };
        let (mut pushed, mut told, mut exemplars, mut has_more) = (families(), 0, 0, true);
        while has_more {
            let mut listed = Exemplars::default();
            take(data, &KEY_SYNTAX, |batch, rejects| {
                has_more = pushed.decode(batch, NOW_MS, (rejects, &mut listed));
                told += batch.rows().len() + rejects.len();
            });
            exemplars += listed.len() as u64;
        }
        assert_eq!(told, samples, "each sample is stored or told of");
        assert!(exemplars <= count, "{exemplars} exemplars of {count}");
    }
}

/// A family of each kind, with the labels a="b" and exemplars.
pub(crate) fn families_seeds() -> Vec<Vec<u8>> {
    let message = |number: u8, body: &[u8]| [&[number << 3 | 2, body.len() as u8], body].concat();
    let double = |number: u8| [&[number << 3 | 1], &1.5f64.to_le_bytes()[..]].concat();
    let label = message(1, b"\x0a\x01a\x12\x01b");
    let exemplar = [label.clone(), double(2), message(3, b"\x08\x05")].concat();
    let bucket = [&b"\x08\x01"[..], &double(2), &message(3, &exemplar)].concat();
    let native = b"\x28\x00\x38\x01\x62\x04\x08\x02\x10\x01\x6a\x01\x02";
    let values = [
        (0, 3, [double(1), message(2, &exemplar)].concat()),
        (1, 2, double(1)),
        (2, 4, [&b"\x08\x01"[..], &message(3, &[double(1), double(2)].concat())].concat()),
        (3, 5, double(1)),
        (4, 7, [&b"\x08\x02"[..], &double(2), &message(3, &bucket), native].concat()),
    ];
    let family = |(kind, field, value): &(u8, u8, Vec<u8>)| {
        let metric = [label.clone(), message(*field, value), vec![0x30, 9]].concat();
        let head = [message(1, b"m"), message(2, b"help"), vec![0x18, *kind]].concat();
        let body = [head, message(4, &metric), message(5, b"s")].concat();
        [&[body.len() as u8][..], &body].concat()
    };
    values.iter().map(family).collect()
}

/// A configuration, and with it the reader of YAML.
pub(crate) fn config(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let _ = Config::read(text, "prometheus.yml", &|name| Some(name.to_owned()));
}

pub(crate) fn rules(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Err(findings) = read_rules(text, "rules.yml") {
        assert!(!findings.is_empty(), "a refusal has a reason");
    }
}

/// A template of an annotation, which asks for two rows.
pub(crate) fn template(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(template) = Template::parse(text) else { return };
    let labels: LabelSet = [("instance".to_owned(), "a:9100".to_owned())].into();
    let data = Data {
        labels: &labels,
        external_labels: &labels,
        external_url: "http://a:9090",
        value: 1.5,
        now_ms: 1_700_000_000_000,
    };
    let row = |value| Row { labels: labels.clone(), value };
    let _ = template.expand(&data, &mut |_| Ok(vec![row(1.0), row(f64::NAN)]));
}
