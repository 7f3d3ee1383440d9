//! The page of `-graph`: one file with all runs that were ever added to it, and a plain drawing of them.
//! Refuses a network: script and style stand in the page.

use super::table::COLUMNS;
use crate::units::thousands as count;
use serde_json::{Map, Value, json};

const START: &str = "/* stats start */\nstats = ";
const END: &str = ";\n/* stats end */\n";

/// A run as the page holds it.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawn {
    /// `op=`, or the command in capitals.
    pub test: String,
    /// `revision=`; with the threads behind it in a search.
    pub revision: String,
    /// The words of the line, passwords masked.
    pub command: String,
    /// The rows of the table.
    pub rows: Vec<String>,
    /// The summary.
    pub summary: String,
}

/// Why a page cannot be added to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it was not written by cassandra-stress or helenus")]
pub struct NoPage;

impl Drawn {
    /// As cassandra-stress's own pages hold it.
    fn json(&self) -> Value {
        let number = |cell: &str| {
            let value = cell.trim().parse::<serde_json::Number>().ok();
            value.map_or(Value::Null, Value::Number)
        };
        let interval = |row: &String| Value::Array(row.split(',').map(number).collect());
        let mut all = Map::new();
        for line in self.summary.lines() {
            if let Some((name, value)) = line.split_once(':')
                && !value.trim().is_empty()
            {
                all.insert(name.trim().to_lowercase(), json!(value.trim()));
            }
        }
        all.insert("metrics".to_owned(), json!(COLUMNS));
        all.insert("test".to_owned(), json!(self.test));
        all.insert("revision".to_owned(), json!(self.revision));
        all.insert("command".to_owned(), json!(self.command));
        let intervals = self.rows.iter().map(interval).collect();
        all.insert("intervals".to_owned(), Value::Array(intervals));
        Value::Object(all)
    }
}

/// What a page that is already there holds.
fn held(page: &str) -> Option<Value> {
    let from = page.find(START)? + START.len();
    let to = page[from..].find(END.trim_end())? + from;
    let held: Value = serde_json::from_str(&page[from..to]).ok()?;
    held.is_object().then_some(held)
}

/// The page with these runs, added to those of the existing page.
///
/// # Errors
/// What is there is no such page.
pub fn page(title: &str, runs: &[Drawn], there: Option<&str>) -> Result<String, NoPage> {
    let mut all = match there {
        Some(text) => held(text).ok_or(NoPage)?,
        None => json!({ "stats": [] }),
    };
    all["title"] = json!(title);
    let list = all["stats"].as_array_mut().ok_or(NoPage)?;
    list.extend(runs.iter().map(Drawn::json));
    let known = count(list.len() as u64);
    // A text of somebody's that would end the script is written so that it does not.
    let data = all.to_string().replace("</", "<\\/");
    Ok(PAGE
        .replace("@runs@", &known)
        .replace("@data@", &format!("{START}{data}{END}")))
}

/// The page around its data: a choice of the column, a line a run, the summaries below.
const PAGE: &str = r##"<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>helenus stress</title>
<style>
body { font: 14px sans-serif; margin: 2em auto; max-width: 1000px; }
svg { width: 100%; height: 420px; border: 1px solid #ccc; }
table { border-collapse: collapse; margin-top: 1em; }
td, th { padding: 2px 10px; text-align: right; border-bottom: 1px solid #ddd; }
</style></head><body>
<h1 id="title"></h1><p>Runs: @runs@. <label>Shown: <select id="metric"></select></label></p>
<svg id="graph" viewBox="0 0 1000 420"></svg><div id="legend"></div><table id="summary"></table>
<script>
var stats;
@data@
var colours = ["#1b6ca8", "#c8502d", "#3a8f45", "#7b4fa3", "#a88a1b", "#4a4a4a"];
function element(parent, name, attributes, text) {
  var svg = parent.namespaceURI, made = document.createElementNS(svg, name);
  for (var key in attributes) made.setAttribute(key, attributes[key]);
  if (text !== undefined) made.textContent = text;
  parent.appendChild(made);
  return made;
}
function draw() {
  var graph = document.getElementById("graph"), legend = document.getElementById("legend");
  var metric = +document.getElementById("metric").value, time = stats.stats[0].metrics.indexOf("time");
  graph.textContent = ""; legend.textContent = "";
  var rows = stats.stats.map(function (run) {
    return run.intervals.filter(function (row) { return row[metric] !== null; });
  });
  var most = 0, last = 0;
  rows.forEach(function (run) { run.forEach(function (row) {
    most = Math.max(most, row[metric]); last = Math.max(last, row[time]);
  }); });
  element(graph, "text", { x: 6, y: 16 }, String(most));
  element(graph, "text", { x: 940, y: 412 }, last + " s");
  rows.forEach(function (run, at) {
    var colour = colours[at % colours.length], points = run.map(function (row) {
      return (40 + 940 * row[time] / (last || 1)) + "," + (400 - 380 * row[metric] / (most || 1));
    });
    element(graph, "polyline", { points: points.join(" "), fill: "none", stroke: colour, "stroke-width": 2 });
    element(legend, "div", { style: "color:" + colour }, stats.stats[at].revision + " " + stats.stats[at].test);
  });
}
document.getElementById("title").textContent = stats.title;
if (stats.stats.length) {
  stats.stats[0].metrics.forEach(function (name, at) {
    if (at > 0) element(document.getElementById("metric"), "option", { value: at }, name);
  });
  document.getElementById("metric").value = 2;
  document.getElementById("metric").onchange = draw;
  var names = Object.keys(stats.stats[0]).filter(function (key) {
    return ["metrics", "intervals", "command"].indexOf(key) < 0;
  });
  names.forEach(function (name) {
    var line = element(document.getElementById("summary"), "tr", {});
    element(line, "th", {}, name);
    stats.stats.forEach(function (run) { element(line, "td", {}, run[name] || ""); });
  });
  draw();
}
</script></body></html>
"##;

#[cfg(test)]
mod tests {
    use super::*;

    fn run(revision: &str) -> Drawn {
        Drawn {
            test: "WRITE".to_owned(),
            revision: revision.to_owned(),
            command: "write n=5 -mode user=a password=*** </script>".to_owned(),
            rows: vec!["total,  100,  50,  50,  50, 1.5, NaN".to_owned()],
            summary: "Results:\nOp rate                   :    1,084 op/s  [WRITE: 1,084 op/s]\n"
                .to_owned(),
        }
    }

    #[test]
    fn a_page_grows_and_its_numbers_can_be_read_again() {
        let first = page("one", &[run("a")], None).expect("new");
        let second = page("two", &[run("b"), run("c")], Some(&first)).expect("added");
        let read = held(&second).expect("holds");
        assert_eq!(read["title"], "two");
        let names: Vec<_> = read["stats"]
            .as_array()
            .expect("runs")
            .iter()
            .map(|r| r["revision"].clone())
            .collect();
        assert_eq!(names, ["a", "b", "c"]);
        let one = &read["stats"][0];
        assert_eq!(one["op rate"], "1,084 op/s  [WRITE: 1,084 op/s]");
        assert_eq!(
            one["intervals"][0],
            json!([null, 100, 50, 50, 50, 1.5, null])
        );
        assert_eq!(one["metrics"].as_array().map(Vec::len), Some(19));
        assert_eq!(
            second.matches("</script>").count(),
            1,
            "no text ends the script"
        );
        assert_eq!(page("x", &[], Some("<html>")), Err(NoPage));
    }

    #[test]
    fn a_page_with_other_data_is_refused() {
        for data in ["[]", "7", "{}", "{\"stats\":1}"] {
            let other = format!("{START}{data}{END}");
            assert_eq!(page("t", &[run("a")], Some(&other)), Err(NoPage), "{data}");
        }
    }
}
