//! One thing the doctor found, and how it looks.

use serde_json::{Value, json};

use tachograph_profile::export::Style;

/// Whether something is as one would wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It works.
    Good,
    /// It does not, and could.
    Improvable,
    /// It is not there, and that is no fault.
    Absent,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    /// A word for scripts.
    pub(super) check: &'static str,
    pub(super) verdict: Verdict,
    /// What is the case.
    pub(super) what: String,
    /// What follows for the user.
    pub(super) effect: String,
    /// The command that improves it.
    pub(super) remedy: Option<String>,
}

impl Finding {
    pub(super) fn new(
        check: &'static str,
        verdict: Verdict,
        what: impl Into<String>,
        effect: impl Into<String>,
    ) -> Self {
        Self { check, verdict, what: what.into(), effect: effect.into(), remedy: None }
    }

    pub(super) fn with_remedy(self, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }

    pub(super) fn as_json(&self) -> Value {
        json!({
            "check": self.check,
            "verdict": match self.verdict {
                Verdict::Good => "good",
                Verdict::Improvable => "improvable",
                Verdict::Absent => "absent",
            },
            "what": self.what,
            "effect": self.effect,
            "remedy": self.remedy,
        })
    }
}

/// The findings, one a line, each remedy below its own.
pub(super) fn table(findings: &[Finding], style: &Style) -> String {
    let widest = findings.iter().map(|found| found.what.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for found in findings {
        let (mark, code) = match (found.verdict, style.unicode) {
            (Verdict::Good, true) => ('✔', "32"),
            (Verdict::Improvable, true) => ('✘', "33"),
            (Verdict::Absent, true) => ('–', "2"),
            (Verdict::Good, false) => ('+', "32"),
            (Verdict::Improvable, false) => ('!', "33"),
            (Verdict::Absent, false) => ('-', "2"),
        };
        let mark = if style.color { format!("\x1b[{code}m{mark}\x1b[0m") } else { mark.into() };
        let (what, effect) = (&found.what, &found.effect);
        let fits = widest + effect.chars().count() + 7 <= style.width;
        if fits {
            text.push_str(&format!("  {mark} {what:<widest$}   {effect}\n"));
        } else {
            text.push_str(&format!("  {mark} {what}\n      {effect}\n"));
        }
        for line in found.remedy.iter().flat_map(|remedy| remedy.lines()) {
            let line = if style.color { format!("\x1b[1m{line}\x1b[0m") } else { line.to_owned() };
            text.push_str(&format!("        {line}\n"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remedy_stands_below_what_it_improves() {
        let findings = [
            Finding::new("a", Verdict::Good, "good thing", "it works"),
            Finding::new("b", Verdict::Improvable, "bad", "it does not").with_remedy("sudo fix"),
        ];

        let text = table(&findings, &Style::default());

        assert_eq!(
            text,
            "  ✔ good thing   it works\n  ✘ bad          it does not\n        sudo fix\n"
        );
        let plain = Style { unicode: false, ..Style::default() };
        assert!(table(&findings, &plain).is_ascii());
    }
}
