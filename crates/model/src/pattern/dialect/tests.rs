use super::super::Pattern;
use super::*;
use proptest::prelude::*;

fn passes(expression: &str, text: &str) -> bool {
    Pattern::new(expression).unwrap().is_match(text)
}

/// As `regexp.MatchString` of Go 1.26 answers.
#[test]
fn expressions_mean_what_they_mean_in_go() {
    for (expression, yes, no) in [
        // The library's operators within classes are characters.
        ("^[a&&b]$", "&", "c"),
        ("^[~~a]$", "~", "b"),
        ("^[+--]$", ",", "x"),
        ("^[[a]$", "[", "]"),
        ("^[]a]$", "]", "b"),
        ("^[^]a]$", "b", "]"),
        ("^[a-]$", "-", "b"),
        ("^[-a]$", "-", "b"),
        (r"^[\d-z]$", "-", "y"),
        ("^[[:alpha:]&&]$", "&", "1"),
        ("^[[:^alpha:]]$", "1", "a"),
        ("^[[:x]+$", "[:x", "y"),
        // Braces that count nothing.
        ("^a{b}$", "a{b}", "ab"),
        ("^x{,3}$", "x{,3}", "xx"),
        ("^x{02}$", "x{02}", "xx"),
        ("^x{2}$", "xx", "x{2}"),
        ("^x{2$", "x{2", "xx"),
        ("^x{2,3}?$", "xxx", "x"),
        // Escapes.
        (r"^\Qa.b*\E+$", "a.b***", "aXb"),
        (r"^\Q[", "[", "]"),
        (r"^\<b\>$", "<b>", "b"),
        (r"^\-\_\#\ $", "-_# ", "x"),
        (r"^\101\x42\x{43}\060$", "ABC0", "A"),
        (r"^\a\f\n\r\t\v$", "\x07\x0c\n\r\t\x0b", ""),
        (r"^\p{^Greek}\P{^Lu}$", "aB", "αb"),
        (r"^\pN\p{Greek}[\PN]$", "1αx", "1α2"),
        // Classes and words are of ASCII.
        (r"^\w+$", "a_9", "é"),
        (r"^\W$", "é", "a"),
        (r"^\d$", "7", "٧"),
        (r"^[^\d]$", "٧", "7"),
        (r"^\s$", "\t", "\u{a0}"),
        (r"^\s$", " ", "\x0b"),
        (r"^é\d?$", "é1", "e"),
        (r"^\\w$", r"\w", "a"),
        (r"a\bé", "aé", "ab"),
        (r"a\Bb", "ab", "aé"),
        // Flags.
        ("^(?i)k$", "\u{212a}", "x"),
        ("^(?i:a)b$", "Ab", "AB"),
        ("^(?ii-s)a.$", "Ab", "A\n"),
        ("(?s)^a.$", "a\n", "a"),
        ("^(?)a$", "a", "b"),
        ("(?m)^b$", "a\nb", "ab"),
        // Groups.
        ("^(?P<x>a)(?<y>b)$", "ab", "a"),
        ("^(|a||)$", "", "b"),
        ("^#x y&z~$", "#x y&z~", "xy"),
    ] {
        let is_right = passes(expression, yes) && !passes(expression, no);
        assert!(is_right, "{expression} is {}", translated(expression, Dialect::Go).unwrap());
    }
    assert_eq!(Pattern::new(r"\w").unwrap().as_str(), r"\w");
}

/// As `regexp.Compile` of Go 1.26 says it.
#[test]
fn faults_are_told_as_go_tells_them() {
    for (written, said) in [
        ("(", "missing closing ): `(`"),
        ("a(b|c", "missing closing ): `a(b|c`"),
        ("x)", "unexpected ): `x)`"),
        ("a[b-", "missing closing ]: `[b-`"),
        ("[]", "missing closing ]: `[]`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("[a--]", "invalid character class range: `a--`"),
        ("[[:foo:]]", "invalid character class range: `[:foo:]`"),
        (r"[a-\d]", r"invalid escape sequence: `\d`"),
        (r"x\p{Foo}", r"invalid character class range: `\p{Foo}`"),
        (r"\p{Greek", r"invalid character class range: `\p{Greek`"),
        (r"\p{sc=Greek}", r"invalid character class range: `\p{sc=Greek}`"),
        ("*", "missing argument to repetition operator: `*`"),
        ("a|+", "missing argument to repetition operator: `+`"),
        ("(?i){2}", "missing argument to repetition operator: `{2}`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a{2}{3}", "invalid nested repetition operator: `{2}{3}`"),
        ("a*?+", "invalid nested repetition operator: `*?+`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("a{999999999999}", "invalid repeat count: `{999999999999}`"),
        ("a{3,2}", "invalid repeat count: `{3,2}`"),
        ("((a{100}){2}b){6}", "invalid repeat count: `{6}`"),
        ("\\", "trailing backslash at end of expression: ``"),
        (r"\y", r"invalid escape sequence: `\y`"),
        (r"\u0078", r"invalid escape sequence: `\u`"),
        (r"\1", r"invalid escape sequence: `\1`"),
        (r"\x{110000}", r"invalid escape sequence: `\x{110000`"),
        (r"\xg0", r"invalid escape sequence: `\xg`"),
        (r"\Z", r"invalid escape sequence: `\Z`"),
        ("(?x)a", "invalid or unsupported Perl syntax: `(?x`"),
        ("(?R)a", "invalid or unsupported Perl syntax: `(?R`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?i-)a", "invalid or unsupported Perl syntax: `(?i-)`"),
        ("(?P=x)", "invalid or unsupported Perl syntax: `(?P`"),
        ("(?P<x-y>a)", "invalid named capture: `(?P<x-y>`"),
        ("(?P<x", "invalid named capture: `(?P<x`"),
        // Go takes these.
        ("(?P<x>a)(?P<x>b)", "unsupported named capture, which stands twice: `(?P<x>`"),
        ("(?P<1>a)", "unsupported named capture, which begins with a digit: `(?P<1>`"),
    ] {
        let said = format!("error parsing regexp: {said}");
        assert_eq!(Pattern::fault(written).as_deref(), Some(&*said), "{written}");
        assert_eq!(Pattern::new(written).unwrap_err().0, said, "{written}");
    }
    for good in ["", "a{2,3}", "[[:alpha:]]", "(?i)x", "\\pL", "a{2", "(a{100}){10}", "^*"] {
        assert_eq!(Pattern::fault(good), None, "{good}");
        assert!(Pattern::new(good).is_ok(), "{good}");
    }
}

/// As `java.util.regex` answers.
#[test]
fn expressions_of_java_keep_its_classes() {
    for (expression, yes, no) in [
        ("^[a-z&&[^b]]$", "a", "b"),
        ("^[a-c[x-z]]$", "y", "["),
        (r"^[\w&&[^a]]$", "b", "a"),
        (r"^\u0078\x79\e$", "xy\x1b", "u0078"),
        (r"^\Q[a]\E$", "[a]", "a"),
        ("^[~~a]$", "~", "b"),
        ("^[+--]$", ",", "x"),
        (r"^\s$", "\x0b", "x"),
        (r"^\0141\07\0477$", "a\x07\u{27}7", "a"),
        (r"^\p{Lower}\P{Alpha}$", "a1", "AA"),
        ("^x{1001}$", &*"x".repeat(1001), "x"),
    ] {
        let pattern = Pattern::of_java(expression).unwrap();
        assert!(pattern.is_match(yes) && !pattern.is_match(no), "{expression}");
    }
    let weighed = Pattern::weighed(|| {
        let _of_go = Pattern::new("^[a&&b]$");
        Pattern::of_java("^[a&&b]$").unwrap().is_match("&")
    });
    assert!(!weighed, "one text is two expressions");
    for none in ["a{", "{a", "a{,2}", r"\0", "(?<=a)b", "a*+", r"(a)\1", "[a", "["] {
        assert!(Pattern::of_java(none).is_err(), "{none}");
    }
    let deep = "[a".repeat(1_000);
    assert!(Pattern::of_java(&deep).unwrap_err().0.contains("nest too deeply"));
}

proptest! {
    /// Each letter stands for itself between `\Q` and `\E`, behind a backslash, and in a class.
    #[test]
    fn escaped_letters_are_themselves(text in "[ -~\n\u{0}é😀]{1,12}") {
        let quoted = format!("^{}$", quoted(&text));
        prop_assert!(passes(&quoted, &text), "{quoted}");
        let longer = text.clone() + "x";
        prop_assert!(!passes(&quoted, &longer));
        for letter in text.chars() {
            let is_plain = letter.is_alphanumeric() || !letter.is_ascii() || letter.is_control();
            let escaped = if is_plain { letter.to_string() } else { format!("\\{letter}") };
            for expression in [format!("^{escaped}$"), format!("^[{escaped}]$")] {
                prop_assert!(passes(&expression, &letter.to_string()), "{expression}");
                prop_assert!(!passes(&expression, "yz"));
            }
        }
    }

    /// What is read by either language is an expression of the library, but for a repeated flag.
    #[test]
    fn what_is_read_is_written_as_an_expression(text in r"([a-cé\\&~\-\[\]^(){}|?*+.,:<>PQEdWpLbx0-3ims]|\(\?|\[\[:|&&){0,24}") {
        for dialect in [Dialect::Go, Dialect::Java] {
            let Ok(written) = translated(&text, dialect) else { continue };
            if let Err(error) = regex_syntax::parse(&written) {
                let error = error.to_string();
                prop_assert!(error.contains("repetition operator missing"), "{written}: {error}");
                prop_assert!(text.contains("(?"), "{text}");
            }
        }
    }
}

/// A text whose letters all stand for themselves.
fn quoted(text: &str) -> String {
    format!(r"\Q{}\E", text.replace(r"\E", r"\E\\E\Q"))
}
