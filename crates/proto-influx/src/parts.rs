//! Forms that come in parts, as `curl -F q=@FILE` sends them (RFC 7578), made forms of the other
//! kind.

/// Most parts of a form: a question has a dozen parameters.
const PARTS_MAX: usize = 64;

/// The form as `application/x-www-form-urlencoded`; nothing when the kind of the body is no form in
/// parts. Parts without a name are passed over, and so are those beyond the 64th.
pub fn form_of_parts(kind: &str, body: &[u8]) -> Option<String> {
    let parameters = kind.strip_prefix("multipart/form-data")?;
    let boundary = parameter(parameters, "boundary").filter(|text| !text.is_empty())?;
    let delimiter = format!("\r\n--{boundary}");
    let mut form = String::new();
    // The first delimiter has no line before it that it would end.
    let mut rest = body.strip_prefix(delimiter.trim_start().as_bytes())?;
    for _ in 0..PARTS_MAX {
        let end = memchr::memmem::find(rest, delimiter.as_bytes());
        let Some(end) = end.filter(|_| !rest.starts_with(b"--")) else { break };
        let (part, behind) = rest.split_at(end);
        rest = behind.get(delimiter.len()..).unwrap_or_default();
        let Some(blank) = memchr::memmem::find(part, b"\r\n\r\n") else { continue };
        let (head, value) = part.split_at(blank);
        let Some(name) = name_of(&String::from_utf8_lossy(head)) else { continue };
        push_encoded(name.as_bytes(), &mut form);
        form.push('=');
        push_encoded(value.get(4..).unwrap_or_default(), &mut form);
        form.push('&');
    }
    Some(form)
}

/// The name of a part, by its head.
fn name_of(head: &str) -> Option<String> {
    let lines = head.split("\r\n").filter_map(|line| line.split_once(':'));
    let mut lines = lines.filter(|(name, _)| name.eq_ignore_ascii_case("content-disposition"));
    parameter(lines.next()?.1, "name")
}

/// A parameter of a header (RFC 9110, 5.6.6), in quotes or without.
fn parameter(text: &str, name: &str) -> Option<String> {
    let mut pairs = text.split(';').filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.find(|(found, _)| found.trim().eq_ignore_ascii_case(name))?;
    Some(value.trim().trim_matches('"').to_owned())
}

fn push_encoded(bytes: &[u8], out: &mut String) {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F'];
    for &byte in bytes {
        match byte.is_ascii_alphanumeric() {
            true => out.push(char::from(byte)),
            false => {
                let digit = |half: u8| DIGITS.get(usize::from(half)).copied().unwrap_or('0');
                out.extend(['%', digit(byte >> 4), digit(byte & 15)]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::form_of_parts;

    #[test]
    fn parts_become_pairs() {
        let body = b"--x\r\nContent-Disposition: form-data; name=\"db\"\r\n\r\na b\r\n--x\r\n\
            content-disposition: form-data; name=\"q\"; filename=\"f\"\r\nContent-Type: a/b\r\n\r\n\
            SHOW\r\n\r\n--y\r\n--x\r\nno head\r\n--x--\r\nname=\"late\"\r\n\r\n\r\n--x";
        let form = form_of_parts("multipart/form-data; boundary=\"x\"", body).unwrap();
        assert_eq!(form, "db=a%20b&q=SHOW%0D%0A%0D%0A%2D%2Dy&");
        assert_eq!(form_of_parts("multipart/form-data; boundary=x", b"--x").unwrap(), "");
        assert_eq!(form_of_parts("multipart/form-data", b"--\r\n"), None);
        assert_eq!(form_of_parts("text/plain; boundary=x", body), None);
    }
}
