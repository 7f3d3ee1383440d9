//! How Prometheus finds the page, and a dashboard of it for Grafana.
//! Refuses a panel without its unit.

use serde_json::{Value, json};

/// How often Prometheus shall read, in seconds: nodes and runs are looked at as often.
pub const SCRAPE_EVERY_S: u32 = 1;

/// A panel: its title, its unit as Grafana names it, its expressions with their legends.
type Panel = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

const PANELS: &[Panel] = &[
    (
        "Throughput",
        "ops",
        &[
            (
                "sum by (operation) (rate(helenus_run_completed_total[10s]))",
                "{{operation}}",
            ),
            ("sum (rate(helenus_run_offered_total[10s]))", "offered"),
        ],
    ),
    (
        "Response time",
        "s",
        &[
            (
                "histogram_quantile(0.5, sum by (le) (rate(helenus_run_response_seconds_bucket[10s])))",
                "p50",
            ),
            (
                "histogram_quantile(0.99, sum by (le) (rate(helenus_run_response_seconds_bucket[10s])))",
                "p99",
            ),
            (
                "histogram_quantile(0.99, sum by (le) (rate(helenus_run_service_seconds_bucket[10s])))",
                "p99 of service time",
            ),
        ],
    ),
    (
        "Failed operations",
        "ops",
        &[(
            "sum by (failure) (rate(helenus_run_failed_total[10s]))",
            "{{failure}}",
        )],
    ),
    (
        "Processors that each node keeps busy",
        "none",
        &[
            ("rate(helenus_node_cpu_seconds_total[10s])", "{{node}}"),
            (
                "rate(helenus_generator_cpu_seconds_total[10s])",
                "generator",
            ),
        ],
    ),
    (
        "The machine's processors",
        "none",
        &[(
            "sum by (by) (rate(helenus_host_cpu_seconds_total[10s]))",
            "{{by}}",
        )],
    ),
    (
        "Memory",
        "bytes",
        &[("helenus_node_memory_bytes", "{{node}} {{kind}}")],
    ),
    (
        "Share of time that collections and other stops take",
        "percentunit",
        &[(
            "rate(helenus_node_event_seconds_total{event=~\"collection|safepoint\"}[10s])",
            "{{node}} {{event}}",
        )],
    ),
    (
        "Tasks that wait, by thread pool",
        "none",
        &[("helenus_pool_pending > 0", "{{node}} {{pool}}")],
    ),
    (
        "Compactions under way",
        "none",
        &[(
            "sum by (node, task) (helenus_sstable_tasks)",
            "{{node}} {{task}}",
        )],
    ),
    (
        "Storage",
        "Bps",
        &[
            (
                "rate(helenus_node_written_bytes_total[10s])",
                "{{node}} written",
            ),
            ("rate(helenus_node_read_bytes_total[10s])", "{{node}} read"),
        ],
    ),
    (
        "Nodes that live",
        "none",
        &[("sum(helenus_node_up)", "nodes")],
    ),
];

/// The panels as data, for a page that draws them: titles, units, and lines with expression and legend.
pub fn panels() -> Value {
    let panels = PANELS.iter().map(|(title, unit, lines)| {
        let lines: Vec<Value> = lines
            .iter()
            .map(|(expr, legend)| json!({ "expr": expr, "legend": legend }))
            .collect();
        json!({ "title": title, "unit": unit, "lines": lines })
    });
    panels.collect()
}

/// A dashboard that Grafana imports; it asks for the data source.
pub fn grafana() -> Value {
    let source = json!({ "type": "prometheus", "uid": "${DS_PROMETHEUS}" });
    let panels: Vec<Value> = PANELS
        .iter()
        .enumerate()
        .map(|(at, (title, unit, lines))| {
            let targets: Vec<Value> = lines
                .iter()
                .zip('A'..)
                .map(|((expr, legend), id)| {
                    json!({ "refId": id.to_string(), "expr": expr, "legendFormat": legend, "datasource": source })
                })
                .collect();
            json!({
                "id": at + 1,
                "type": "timeseries",
                "title": title,
                "datasource": source,
                "gridPos": { "h": 8, "w": 12, "x": at % 2 * 12, "y": at / 2 * 8 },
                "fieldConfig": { "defaults": { "unit": unit, "min": 0 }, "overrides": [] },
                "options": { "legend": { "displayMode": "list", "placement": "bottom" } },
                "targets": targets,
            })
        })
        .collect();
    json!({
        "__inputs": [{
            "name": "DS_PROMETHEUS",
            "label": "Prometheus",
            "type": "datasource",
            "pluginId": "prometheus",
        }],
        "__requires": [{ "type": "datasource", "id": "prometheus", "name": "Prometheus", "version": "2.0.0" }],
        "title": "Helenus",
        "uid": "helenus",
        "schemaVersion": 36,
        "refresh": "5s",
        "time": { "from": "now-15m", "to": "now" },
        "panels": panels,
    })
}

/// The configuration with which Prometheus reads these addresses.
pub fn scrape(addresses: &[String]) -> String {
    let targets: Vec<String> = addresses.iter().map(|at| format!("'{at}'")).collect();
    format!(
        "scrape_configs:\n  - job_name: helenus\n    scrape_interval: {SCRAPE_EVERY_S}s\n    static_configs:\n      - targets: [{}]\n",
        targets.join(", ")
    )
}
