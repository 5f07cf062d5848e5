//! Just enough JSON to write one line about the link.

use std::fmt::{Display, Write};

/// A JSON object under construction.
#[derive(Default)]
pub struct Object(String);

impl Object {
    pub fn event(name: &str) -> Object {
        Object::default().text("event", name)
    }

    pub fn text(self, key: &str, value: &str) -> Object {
        self.raw(key, quoted(value))
    }

    /// Integers and finite decimals.
    pub fn number(self, key: &str, value: impl Display) -> Object {
        self.raw(key, value)
    }

    /// A number, or null when it was not observed.
    pub fn number_or_null(self, key: &str, value: Option<impl Display>) -> Object {
        match value {
            Some(value) => self.raw(key, value),
            None => self.raw(key, "null"),
        }
    }

    pub fn text_or_null(self, key: &str, value: Option<&str>) -> Object {
        match value {
            Some(value) => self.text(key, value),
            None => self.raw(key, "null"),
        }
    }

    pub fn object(self, key: &str, value: Object) -> Object {
        self.raw(key, value.finish())
    }

    pub fn numbers(self, key: &str, values: &[u64]) -> Object {
        let values: Vec<String> = values.iter().map(u64::to_string).collect();
        self.raw(key, format!("[{}]", values.join(",")))
    }

    fn raw(mut self, key: &str, value: impl Display) -> Object {
        let separator = if self.0.is_empty() { "" } else { "," };
        write!(self.0, "{separator}{}:{value}", quoted(key)).expect("a String takes any text");
        self
    }

    pub fn finish(self) -> String {
        format!("{{{}}}", self.0)
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            control if control < ' ' => out.push_str(&format!("\\u{:04x}", control as u32)),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}
