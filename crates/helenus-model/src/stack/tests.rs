//! The files of a stack word for word, and laws of what can be left out.
//! Refuses a template whose braces Prometheus would misread.

use super::*;

fn stack(without: &[Extra], s3: bool) -> Stack {
    let extras = Extra::ALL.into_iter();
    let extras: Vec<Extra> = extras.filter(|extra| !without.contains(extra)).collect();
    let request = StackRequest::new(Gateway::default(), &extras, s3);
    Stack::new("c", Ipv4Addr::new(127, 1, 2, 3), request)
}

#[test]
fn what_is_left_out_takes_what_needs_it_along() {
    let words =
        |stack: &Stack| -> Vec<&str> { stack.request.parts.iter().map(|p| p.as_str()).collect() };
    assert_eq!(
        words(&stack(&[], false)),
        ["metrics", "prometheus", "reaper", "medusa"]
    );
    assert_eq!(
        words(&stack(&[Extra::Metrics], true)),
        ["moto", "reaper", "medusa"]
    );
    assert!(words(&stack(&Extra::ALL, true)).is_empty());
    assert_eq!(stack(&[Extra::Metrics], false).dashboard(), None);
}

#[test]
fn parts_are_all_none_or_words() {
    assert_eq!(Extra::parse_list("all"), Ok(Extra::ALL.to_vec()));
    assert_eq!(Extra::parse_list("none"), Ok(Vec::new()));
    let two = Extra::parse_list("metrics,reaper");
    assert_eq!(two, Ok(vec![Extra::Metrics, Extra::Reaper]));
    let wrong = Extra::parse_list("reaper,grafana").unwrap_err().to_string();
    assert!(
        wrong.contains("\"grafana\"") && wrong.contains("reaper,medusa,metrics"),
        "{wrong}"
    );
}

#[test]
fn a_gateway_is_a_node_nothing_or_an_address() {
    for text in ["coordinator", "none", "127.0.0.1:9042"] {
        assert_eq!(text.parse::<Gateway>().unwrap().to_string(), text);
    }
    let wrong = "stargate".parse::<Gateway>().unwrap_err().to_string();
    assert!(wrong.contains("coordinator, none"), "{wrong}");
    let kept = serde_json::to_string(&stack(&[], false)).unwrap();
    assert_eq!(
        serde_json::from_str::<Stack>(&kept).unwrap(),
        stack(&[], false)
    );
}

#[test]
fn prometheus_scrapes_each_part_that_is_there() {
    insta::assert_snapshot!(stack(&[], false).prometheus_yml(), @r"
    scrape_configs:
      - job_name: helenus
        scrape_interval: 1s
        static_configs:
          - targets: ['127.1.2.3:9095']
      - job_name: run
        metrics_path: /metrics
        scrape_interval: 1s
        static_configs:
          - targets: ['127.1.2.3:9096']
        metric_relabel_configs:
          - source_labels: [__name__]
            regex: 'helenus_(run|generator)_.*'
            action: keep
      - job_name: prometheus
        metrics_path: /metrics
        scrape_interval: 5s
        static_configs:
          - targets: ['127.1.2.3:9090']
      - job_name: reaper
        metrics_path: /prometheusMetrics
        scrape_interval: 5s
        static_configs:
          - targets: ['127.1.2.3:8081']
    ");
    let alone = stack(&[Extra::Reaper], false).prometheus_yml();
    assert!(!alone.contains("reaper"), "{alone}");
}

#[test]
fn reaper_s_file_is_yaml_with_the_password_of_jmx() {
    let text = stack(&[], false).reaper_yaml("helenus", "0123");
    let read = crate::yaml::parse(&text).unwrap();
    assert_eq!(read["jmxAuth"]["password"], "0123");
    assert_eq!(read["server"]["applicationConnectors"][0]["port"], 8080);
    assert_eq!(
        read["server"]["adminConnectors"][0]["bindHost"],
        "127.1.2.3"
    );
    assert_eq!(read["storageType"], "memory");
}

#[test]
fn medusa_stores_in_a_folder_or_by_s3() {
    let node = MedusaNode {
        yaml: "/c/node1/conf/cassandra.yaml",
        address: Ipv4Addr::new(127, 1, 2, 3),
        saved_as: Ipv4Addr::new(127, 1, 2, 9),
        key_file: None,
    };
    let stack = stack(&[], false);
    insta::assert_snapshot!(stack.medusa_ini(&node, &stack.storage("/c/stack/medusa")), @r"
    [cassandra]
    config_file = /c/node1/conf/cassandra.yaml
    nodetool_host = 127.1.2.3
    resolve_ip_addresses = False
    use_sudo = False
    stop_cmd = true
    start_cmd = true
    check_running = false
    [storage]
    bucket_name = backups
    fqdn = 127.1.2.9
    use_sudo_for_restore = False
    storage_provider = local
    base_path = /c/stack/medusa
    ");
    let s3 = Stack::new(
        "c",
        stack.address,
        StackRequest::new(Gateway::None, &Extra::ALL, true),
    );
    let node = MedusaNode {
        key_file: Some("/k"),
        ..node
    };
    let text = s3.medusa_ini(&node, &s3.storage("/c/stack/medusa"));
    assert!(
        text.contains("storage_provider = s3_compatible\n"),
        "{text}"
    );
    assert!(
        text.contains("port = 5000\nsecure = False\nkey_file = /k\n"),
        "{text}"
    );
}

#[test]
fn the_dashboard_has_no_braces_but_those_of_prometheus() {
    let (name, text) = stack(&[], false).console();
    assert_eq!(name, "helenus.html");
    assert!(!text.contains('@'), "a place was not filled");
    assert!(text.contains("http://127.1.2.3:8080/webui/"), "{text}");
    let script = text.split("<script>").nth(1).unwrap();
    assert!(!script.contains("{{"), "an action in the script");
    let actions = text.matches("{{").count();
    assert_eq!(
        actions,
        text.split("<script>").next().unwrap().matches("}}").count()
    );
}

#[test]
fn a_run_of_reaper_is_read_alone_and_in_a_list() {
    let one = r#"{"id":"9b","cluster_name":"c","keyspace_name":"ks","state":"RUNNING","segments_repaired":3,"total_segments":8,"last_event":"x","owner":"helenus"}"#;
    let run = runs_of(one.as_bytes()).unwrap().remove(0);
    assert_eq!((run.keyspace.as_str(), run.segments_repaired), ("ks", 3));
    assert!(!run.state.is_done() && !run.state.has_failed());
    assert_eq!(runs_of(format!("[{one}]").as_bytes()).unwrap(), [run]);
    assert!(runs_of(b"[]").unwrap().is_empty());
    assert!(runs_of(b"no json").is_err());
    assert!(RunState("ERROR".to_owned()).has_failed());
}
