//! A count as people read it: the total, and tables of partitions, nodes, or the ring with a small plot.
//! Refuses to hide that requests had to be asked again.

use crate::ui::{Answers, Table};
use helenus_model::cql::CqlValue;
use helenus_model::scan::report::PartitionReport;
use helenus_model::scan::{CountReport, Large, NodeCount, RangeCount};
use helenus_model::units::human_duration;
use helenus_model::units::thousands;
use helenus_model::units::whole as rounded;
use helenus_record::csv::line;
use std::time::Duration;

/// Characters of the longest bar.
const BAR: u64 = 30;

pub(super) fn text(report: &CountReport) -> String {
    let mut text = total(report);
    if let Some(partitions) = &report.partitions {
        text.push_str(&by_partition(partitions));
    }
    if let Some(nodes) = &report.nodes {
        text.push_str(&by_node(nodes, report.rows));
    }
    if let Some(ranges) = &report.ranges {
        text.push_str(&by_range(ranges));
    }
    text
}

impl Answers for CountReport {
    fn answer(&self) -> String {
        let part = match self.complete {
            true => String::new(),
            false => format!(" in {:.1} % of the ring", self.share * 100.0),
        };
        format!(
            "{} rows{part} in {}.{} of {} at {}",
            thousands(self.rows),
            self.keyspace,
            self.table,
            self.cluster_name,
            self.consistency,
        )
    }
}

fn total(report: &CountReport) -> String {
    let time = Duration::try_from_secs_f64(report.seconds).unwrap_or_default();
    let now = report.rows - report.resumed_rows;
    #[expect(clippy::cast_precision_loss, reason = "a rate")]
    let rate = if report.seconds > 0.0 {
        now as f64 / report.seconds
    } else {
        0.0
    };
    let mut text = report.answer() + "\n";
    let before = match report.resumed_rows {
        0 => String::new(),
        rows => format!(", {} of them before an interruption", thousands(rows)),
    };
    text.push_str(&format!(
        "{}, {} rows/s, {} requests{before}\n",
        human_duration(time),
        rounded(rate),
        thousands(report.requests)
    ));
    if !report.troubles.is_empty() {
        let each = report
            .troubles
            .iter()
            .map(|(name, times)| format!("{times} {}", name.replace('_', " ")));
        let each: Vec<String> = each.collect();
        text.push_str(&format!("retried: {}\n", each.join(", ")));
    }
    if let Some(checksum) = &report.checksum {
        text.push_str(&format!("checksum {checksum}\n"));
    }
    text
}

fn by_partition(partitions: &PartitionReport) -> String {
    let sizes = &partitions.sizes;
    #[expect(clippy::cast_precision_loss, reason = "a mean")]
    let mean = sizes.rows as f64 / sizes.partitions.max(1) as f64;
    let mut text = format!(
        "\n{} partitions, {mean:.1} rows each on average\n\n",
        thousands(sizes.partitions)
    );
    let mut table = Table::new(&[">rows", ">partitions", ""]);
    let most = sizes.by_size.iter().max().copied().unwrap_or_default();
    for (fewest, largest, count) in sizes.classes() {
        let range = match fewest == largest {
            true => thousands(fewest),
            false => format!("{} – {}", thousands(fewest), thousands(largest)),
        };
        table.row([range, thousands(count), bar(count, most)]);
    }
    text.push_str(&table.render());
    let mut table = Table::new(&[">rows", &partitions.key.join(", ")]);
    for large in &sizes.largest {
        table.row([thousands(large.rows), large.key_text()]);
    }
    text.push_str("\nthe largest\n");
    text.push_str(&table.render());
    text
}

#[expect(clippy::cast_precision_loss, reason = "a percentage")]
fn by_node(nodes: &[NodeCount], rows: u64) -> String {
    let mut table = Table::new(&[
        "node",
        "data centre",
        ">ranges",
        ">of the ring",
        ">rows",
        ">of the rows",
    ]);
    for node in nodes {
        table.row([
            node.address.clone(),
            node.data_center.clone(),
            node.ranges.to_string(),
            format!("{:.1} %", node.share * 100.0),
            thousands(node.rows),
            format!("{:.1} %", node.rows as f64 / rows.max(1) as f64 * 100.0),
        ]);
    }
    format!("\n{}", table.render())
}

fn by_range(ranges: &[RangeCount]) -> String {
    let mut table = Table::new(&[">tokens after", ">up to", "node", ">rows", ""]);
    let most = ranges
        .iter()
        .map(|range| range.rows)
        .max()
        .unwrap_or_default();
    for range in ranges {
        table.row([
            range.start.to_string(),
            range.end.to_string(),
            range.node.clone(),
            thousands(range.rows),
            bar(range.rows, most),
        ]);
    }
    format!("\n{}", table.render())
}

/// What is there at all has a bar.
fn bar(number: u64, most: u64) -> String {
    let length = (u128::from(number) * u128::from(BAR)).div_ceil(u128::from(most.max(1)));
    "#".repeat(usize::try_from(length).unwrap_or_default())
}

/// The first line of a CSV of partitions.
pub(super) fn csv_head(key: &[String]) -> String {
    line(key.iter().cloned().chain(["rows".to_owned()]))
}

/// A line a partition.
pub(super) fn csv(partitions: &[Large]) -> String {
    let each = partitions.iter().map(|partition| {
        let shown =
            |value: &Option<CqlValue>| value.as_ref().map_or(String::new(), CqlValue::to_string);
        let key = partition.key.iter().map(shown);
        line(key.chain([partition.rows.to_string()]))
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use helenus_model::format::Format;
    use helenus_model::scan::PartitionSizes;
    use std::collections::BTreeMap;

    fn report() -> CountReport {
        let mut sizes = PartitionSizes::new(2);
        for (rows, key) in [(1, "a"), (1, "b"), (3, "c"), (1_200, "d, e")] {
            sizes.add(rows, || vec![Some(CqlValue::Text(key.into())), None]);
        }
        let node = |address: &str, rows| NodeCount {
            address: address.into(),
            data_center: "datacenter1".into(),
            ranges: 1,
            share: 0.5,
            rows,
        };
        CountReport {
            format: Format::new("count", 1),
            cluster_name: "c".into(),
            keyspace: "k".into(),
            table: "t".into(),
            consistency: "ONE".into(),
            rows: 1_205,
            complete: false,
            share: 0.415,
            seconds: 2.5,
            resumed_rows: 205,
            requests: 1_234,
            troubles: BTreeMap::from([("overloaded", 1), ("timed_out", 2)]),
            checksum: Some("00000000000000ff".into()),
            nodes: Some(vec![node("10.0.0.1", 1_000), node("10.0.0.2", 205)]),
            ranges: Some(vec![
                RangeCount {
                    start: i64::MIN,
                    end: 0,
                    node: "10.0.0.1".into(),
                    rows: 1_000,
                },
                RangeCount {
                    start: 0,
                    end: i64::MAX,
                    node: "10.0.0.2".into(),
                    rows: 205,
                },
            ]),
            partitions: Some(PartitionReport {
                key: vec!["country".into(), "city".into()],
                sizes,
            }),
        }
    }

    #[test]
    fn everything_at_once() {
        insta::assert_snapshot!(text(&report()), @"
        1,205 rows in 41.5 % of the ring in k.t of c at ONE
        2.5 s, 400 rows/s, 1,234 requests, 205 of them before an interruption
        retried: 1 overloaded, 2 timed out
        checksum 00000000000000ff

        4 partitions, 301.2 rows each on average

                 rows  partitions
                    1           2  ##############################
                2 – 3           1  ###############
        1,024 – 2,047           1  ###############

        the largest
         rows  country, city
        1,200  d, e, null
            3  c, null

        node      data centre  ranges  of the ring   rows  of the rows
        10.0.0.1  datacenter1       1       50.0 %  1,000       83.0 %
        10.0.0.2  datacenter1       1       50.0 %    205       17.0 %

                tokens after                up to  node       rows
        -9223372036854775808                    0  10.0.0.1  1,000  ##############################
                           0  9223372036854775807  10.0.0.2    205  #######
        ");
    }

    #[test]
    fn csv_quotes_what_must_be() {
        let partitions = report().partitions.expect("partitions").sizes.largest;
        let text = csv_head(&["country".into(), "ci\"ty".into()]) + &csv(&partitions);
        insta::assert_snapshot!(text, @r#"
        country,"ci""ty",rows
        "d, e",,1200
        c,,3
        "#);
    }
}
