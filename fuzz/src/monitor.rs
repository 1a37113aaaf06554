//! What a Prometheus does by itself: scraped texts, its files, and the templates of alerts.

use foliot_monitor::{Config, Data, LabelSet, Row, Template, read_rules};
use foliot_proto_prometheus::{Exposed, Format, Scraped, exposed_labels};

/// A text in both formats. What the whole text allows, its lines must allow as well.
pub(crate) fn scraped(data: &[u8]) {
    for format in [Format::Text, Format::OpenMetrics] {
        let Ok(mut scraped) = Scraped::new(data, format) else { continue };
        let mut steps = 0;
        while let Ok(Some(said)) = scraped.step() {
            steps += 1;
            if let Exposed::Sample { series, .. } = said {
                let mut bytes = 0;
                let read = exposed_labels(series, &mut |name, value| {
                    bytes += name.len() + value.len();
                });
                let most = series.len() + "__name__".len() * (1 + series.matches('"').count());
                assert!(read.is_err() || bytes <= most, "{bytes} bytes of {series:?}");
            }
        }
        assert!(steps <= data.len(), "a line says one thing at most");
    }
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
