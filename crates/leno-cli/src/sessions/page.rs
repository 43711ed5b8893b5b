//! The page as text. What people have written is escaped, always.

use std::fmt::Write;

use leno::session::{Row, State};

use super::questionnaire::LONGEST;

/// No scripts, nothing from elsewhere, no frames; nothing is kept, and addresses are told to nobody.
pub(super) const HEADERS: [(&str, &str); 6] = [
    ("content-type", "text/html; charset=utf-8"),
    (
        "content-security-policy",
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    ("referrer-policy", "no-referrer"),
    ("cache-control", "no-store"),
    ("x-content-type-options", "nosniff"),
    ("cross-origin-opener-policy", "same-origin"),
];

const STYLE: &str = "\
:root{color-scheme:light dark}\
body{font:1.1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:12vh auto;padding:0 1rem}\
h1{font-size:1.3rem}label{display:block;white-space:pre-line;margin:1rem 0 .4rem}\
input,button{font:inherit;padding:.5rem .7rem;border:1px solid GrayText;border-radius:.3rem}\
input{width:100%;box-sizing:border-box}button{margin-top:.8rem}\
:focus-visible{outline:3px solid Highlight;outline-offset:2px}\
.said{white-space:pre-line;border-left:4px solid GrayText;padding-left:.8rem}small{color:GrayText}";

/// Text as it may stand in HTML, in an attribute, too.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

fn whole(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>{}</title><style>{STYLE}</style></head>\
         <body><main>{body}</main></body></html>\n",
        escaped(title)
    )
}

const AGAIN: &str = "<form method=\"post\" action=\"/\"><button>Begin another one</button></form>";

/// Where a dialogue is begun.
pub(super) fn welcome() -> String {
    whole(
        "Questionnaire",
        "<h1>Questionnaire</h1><p>A few questions. Leave and come back when you like: the address of the page is all \
         you need, even if the server was restarted meanwhile.</p>\
         <form method=\"post\" action=\"/\"><button autofocus>Begin</button></form>",
    )
}

/// What a session says, and where to answer.
pub(super) fn dialogue(row: &Row, wrong: Option<&str>) -> String {
    let mut body = String::from("<h1>Questionnaire</h1>");
    if let Some(wrong) = wrong {
        let _never_fails = write!(body, "<p role=\"alert\">{}</p>", escaped(wrong));
    }
    let said = escaped(&row.text());
    let _never_fails = match row.state {
        State::Waiting => write!(
            body,
            "<form method=\"post\" autocomplete=\"off\"><label for=\"answer\">{said}</label>\
             <input id=\"answer\" name=\"answer\" required autofocus maxlength=\"{LONGEST}\">\
             <input type=\"hidden\" name=\"sequence\" value=\"{}\"><button>Answer</button></form>\
             <p><small>Question {} of this dialogue.</small></p>",
            row.sequence, row.sequence
        ),
        State::Done => {
            write!(body, "<p>Thank you.</p><p class=\"said\" role=\"status\">{said}</p>{AGAIN}")
        }
        State::Cancelled | State::Expired => {
            write!(body, "<p role=\"status\">This dialogue was {}.</p>{AGAIN}", row.state)
        }
        State::Failed | State::Quarantined => write!(
            body,
            "<p role=\"status\">This dialogue cannot go on at the moment. Nothing is lost; try again later.</p>"
        ),
        _ => write!(body, "<p role=\"status\">One moment. Load the page again.</p>"),
    };
    whole("Questionnaire", &body)
}

/// Something that went wrong.
pub(super) fn problem(text: &str) -> String {
    whole(
        "Questionnaire",
        &format!(
            "<h1>Questionnaire</h1><p role=\"alert\">{}</p><p><a href=\"/\">Begin</a></p>",
            escaped(text)
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::{escaped, problem};

    #[test]
    fn nothing_that_people_write_is_markup() {
        assert_eq!(escaped("<b a=\"x\">&'"), "&lt;b a=&quot;x&quot;&gt;&amp;&#39;");
        assert!(!problem("<script>").contains("<script"));
    }
}
