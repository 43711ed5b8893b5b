//! Text that others chose, made harmless in JSON, in a script and in XML.

use core::fmt;

/// As a JSON string. `<`, `>`, `&` and the separators that end a line in a script are written by
/// number, so that no text can end the script it stands in.
pub(crate) fn json(text: &str) -> impl fmt::Display + '_ {
    Json(text)
}

/// As XML or HTML text, or as a quoted attribute. What XML cannot hold is shown by a picture of it.
pub(crate) fn xml(text: &str) -> impl fmt::Display + '_ {
    Xml(text)
}

struct Json<'a>(&'a str);

impl fmt::Display for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\x1f' | '\x7f' => {
                    write!(f, "\\u{:04x}", u32::from(c))?;
                }
                c => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}

struct Xml<'a>(&'a str);

impl fmt::Display for Xml<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                '\t' | '\n' => f.write_char(' ')?,
                '\0'..='\x1f' => {
                    f.write_char(char::from_u32(0x2400 + u32::from(c)).unwrap_or(' '))?;
                }
                '\x7f'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => f.write_char('\u{fffd}')?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_comes_back_from_json_and_cannot_end_a_script() {
        let nasty = "</script><!-- \"'\\ \0\n\r\t\x7f \u{2028}\u{2029} ü 織 🧵";
        let text = json(nasty).to_string();
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), nasty);
        assert!(!text.contains(['<', '>', '&', '\n', '\u{2028}']), "{text}");
    }

    #[test]
    fn xml_has_neither_tags_nor_controls() {
        let text = xml("<a b=\"c\" d='e'>&\0\x1b\n\u{ffff}ü").to_string();
        assert_eq!(text, "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;\u{2400}\u{241b} \u{fffd}ü");
    }
}
