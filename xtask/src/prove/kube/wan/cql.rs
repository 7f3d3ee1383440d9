//! Statements to pods: by `helenus kube cql`, or at the pods' addresses where that verb is not there.
//! Refuses to hide which of the two it was.

use super::super::lab::Lab;
use super::super::sheet::{Sheet, Verdict};
use helenus_cql::client::{Client, ConnectOptions};
use helenus_cql::codec::Consistency;
use serde_json::Value;
use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Where Cassandra listens in a pod.
pub(in super::super) const CQL_PORT: u16 = 9042;

/// Longest wait for one answer: statements of the schema go to all nodes.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// The way statements go.
pub(super) struct Statements<'a> {
    lab: &'a Lab,
    name: &'a str,
    verb: bool,
}

impl<'a> Statements<'a> {
    /// Tries the verb; one that answers nothing is not there yet.
    pub(super) fn open(
        lab: &'a Lab,
        sheet: &mut Sheet,
        name: &'a str,
    ) -> Result<Self, Box<dyn Error>> {
        let asked = "SELECT cluster_name FROM system.local";
        let ran = lab.run(&["kube", "cql", name, "-e", asked])?;
        let verb = ran.code == 0 && ran.out.contains("cluster_name");
        let what = "kube cql answers";
        if verb {
            sheet.record(
                what,
                Verdict::Holds,
                ran.out.trim().lines().last().unwrap_or_default(),
            )?;
        } else {
            let said = format!(
                "exit code {}, {} bytes: {}; statements go to the pods' addresses instead",
                ran.code,
                ran.out.len(),
                ran.said()
            );
            sheet.record(what, Verdict::NotRun, &said)?;
        }
        Ok(Self { lab, name, verb })
    }

    /// How they go.
    pub(super) const fn by(&self) -> &'static str {
        match self.verb {
            true => "kube cql",
            false => "the pod's address",
        }
    }

    /// Runs a statement at a pod and answers what is printed, or the values of the rows.
    pub(super) fn run(&mut self, pod: &Value, statement: &str) -> Result<String, Box<dyn Error>> {
        if self.verb {
            let pod = pod["name"].as_str().unwrap_or_default();
            let target = format!("{}/{pod}", self.name);
            let ran = self.lab.run(&["kube", "cql", &target, "-e", statement])?;
            return Ok(ran.well(statement)?.out);
        }
        let address: IpAddr = pod["ip"].as_str().unwrap_or_default().parse()?;
        let options = ConnectOptions {
            timeout: ANSWER_WITHIN,
            ..ConnectOptions::default()
        };
        let mut client = Client::connect(SocketAddr::from((address, CQL_PORT)), &options)?;
        let rows = client.query(statement, Consistency::One)?;
        let columns: Vec<String> = rows.columns.iter().map(|c| c.name.clone()).collect();
        let mut lines = Vec::new();
        for row in 0..rows.len() {
            let values: Vec<String> = columns
                .iter()
                .map(|column| rows.text(row, column).unwrap_or_default())
                .collect();
            lines.push(values.join(" | "));
        }
        Ok(lines.join("\n"))
    }
}
