//! Statements of InfluxQL asked of a server, in the database `d`.

use super::{Response, Server};

/// Percent-encodes a value of a form.
pub(crate) fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |out, byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => out + &char::from(byte).to_string(),
        _ => out + &format!("%{byte:02x}"),
    })
}

pub(crate) const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");

/// Asks with parameters `more`, such as `&epoch=ns`.
pub(crate) fn ask(server: &Server, statement: &str, more: &str) -> Response {
    let body = format!("q={}{more}", encoded(statement));
    server.request("POST", "/query?db=d", &[FORM], body.as_bytes())
}

/// The answer to one statement, without what every answer has around it.
pub(crate) fn answer(server: &Server, statement: &str) -> String {
    let response = ask(server, statement, "&epoch=ns");
    assert_eq!(response.status, 200, "{statement}: {}", response.text());
    let text = response.text();
    let inner = text.strip_prefix("{\"results\":[{\"statement_id\":0").unwrap_or(&text);
    let inner = inner.strip_suffix("}]}\n").unwrap_or(inner);
    inner.trim_start_matches(',').to_owned()
}

pub(crate) fn write(server: &Server, lines: &str) {
    let response = server.post("/write?db=d", lines);
    assert_eq!(response.status, 204, "{}", response.text());
}
