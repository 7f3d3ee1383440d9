//! OpenMetrics text: families with their kind, unit and help, and samples.
//! Refuses a sample outside of its family.

/// Kinds of families.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// A page on its way.
#[derive(Debug, Default)]
pub(super) struct Page {
    text: String,
}

impl Page {
    /// Begins a family. A unit is the end of its name.
    pub(super) fn family(&mut self, name: &str, kind: Kind, unit: &str, help: &str) {
        debug_assert!(
            unit.is_empty() || name.ends_with(&format!("_{unit}")),
            "{name}"
        );
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        self.text.push_str(&format!("# TYPE {name} {kind}\n"));
        if !unit.is_empty() {
            self.text.push_str(&format!("# UNIT {name} {unit}\n"));
        }
        self.text.push_str(&format!("# HELP {name} {help}\n"));
    }

    /// A sample of the last family.
    pub(super) fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        self.text.push_str(name);
        if !labels.is_empty() {
            let labels: Vec<String> = labels
                .iter()
                .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
                .collect();
            self.text.push_str(&format!("{{{}}}", labels.join(",")));
        }
        self.text.push_str(&format!(" {value}\n"));
    }

    /// The page.
    pub(super) fn end(mut self) -> String {
        self.text.push_str("# EOF\n");
        self.text
    }
}

fn escaped(value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    value.replace('\n', "\\n")
}
