//! What of a manifest has no place in a local cluster: field by field, with the reason.
//! Refuses a field without a reason.

use crate::like::Class;

/// Fields with one fate and one reason.
pub(super) type Group = (&'static [&'static str], Class, &'static str);

const HERE: &str = "every node is on this machine";
const IMAGE: &str = "no image runs here: Cassandra's jars run on a JDK of this machine";
const PODS: &str = "there are no pods here";
const DISK: &str = "the machine's disk; --disk gives each node its own";
const ACCOUNTS: &str = "the production cluster's accounts are not on this machine";
const SECRETS: &str = "secrets are not in the file and are not read";
const ADDRESS: &str = "an address of this machine";

/// Of a K8ssandraCluster.
pub(super) const CLUSTER: &[Group] = &[
    (
        &["medusa"],
        Class::NotHere,
        "no backups are made; `helenus baseline` saves a state",
    ),
    (
        &["reaper"],
        Class::NotHere,
        "nothing repairs by itself; `helenus nodetool NAME repair` does",
    ),
    (
        &["externalDatacenters"],
        Class::NotHere,
        "data centres outside of the file",
    ),
    (&["secretsProvider"], Class::NotHere, SECRETS),
];

/// Of a data centre, whichever operator keeps it.
pub(super) const DATA_CENTER: &[Group] = &[
    (
        &["clusterName"],
        Class::Replaced,
        "the name of the cluster in Helenus",
    ),
    (
        &["additionalSeeds"],
        Class::Replaced,
        "the nodes of this cluster",
    ),
    (&["networking"], Class::Replaced, ADDRESS),
    (
        &["superuserSecretRef", "superuserSecretName"],
        Class::Replaced,
        "an account of this cluster",
    ),
    (
        &["stopped"],
        Class::Replaced,
        "its nodes start; `helenus stop` stops them",
    ),
    (&["users"], Class::NotHere, ACCOUNTS),
    (&["storageConfig"], Class::NotHere, DISK),
    (
        &[
            "allowMultipleNodesPerWorker",
            "k8sContext",
            "nodeAffinityLabels",
            "nodeSelector",
            "podPriorityClassName",
            "softPodAntiAffinity",
            "tolerations",
        ],
        Class::NotHere,
        HERE,
    ),
    (
        &[
            "configBuilderImage",
            "configBuilderResources",
            "disableSystemLoggerSidecar",
            "dockerImageRunsAsCassandra",
            "jmxInitContainerImage",
            "perNodeConfigInitContainerImage",
            "readOnlyRootFilesystem",
            "serverImage",
            "systemLoggerImage",
            "systemLoggerResources",
        ],
        Class::NotHere,
        IMAGE,
    ),
    (
        &[
            "additionalAnnotations",
            "additionalLabels",
            "additionalServiceConfig",
            "containers",
            "extraVolumes",
            "initContainers",
            "podSecurityContext",
            "podTemplateSpec",
            "serviceAccount",
            "serviceAccountName",
        ],
        Class::NotHere,
        PODS,
    ),
    (
        &["managementApiAuth", "mgmtAPIHeap"],
        Class::NotHere,
        "no management API runs beside the nodes",
    ),
    (
        &["telemetry"],
        Class::NotHere,
        "no agent collects metrics; `helenus run` reads them beside a run",
    ),
    (
        &["cdc"],
        Class::NotHere,
        "no changes are sent to another system",
    ),
    (
        &["dseWorkloads"],
        Class::NotHere,
        "Apache Cassandra has no such workloads",
    ),
    (
        &["configSecret", "perNodeConfigMapRef"],
        Class::NotHere,
        "settings outside of the file are not read",
    ),
    (
        &[
            "canaryUpgrade",
            "canaryUpgradeCount",
            "forceUpgradeRacks",
            "maxUnavailable",
            "minReadySeconds",
            "rebuild",
            "replaceNodes",
            "rollingRestartRequested",
        ],
        Class::NotHere,
        "a task of the operator",
    ),
];

/// Of a rack.
pub(super) const RACK: &[Group] = &[(
    &["affinity", "nodeAffinityLabels", "zone"],
    Class::NotHere,
    HERE,
)];

/// Of the configuration of a data centre.
pub(super) const CONFIG: &[Group] = &[
    (
        &["dseYaml", "dse-yaml"],
        Class::NotHere,
        "Apache Cassandra reads no dse.yaml",
    ),
    (
        &["jvm8-server-options"],
        Class::NotHere,
        "flags of Java 8; --jvm sets them",
    ),
    (
        &["logback-xml", "10-write-prom-conf"],
        Class::Replaced,
        "a file of the node",
    ),
    (
        &["cluster-info", "datacenter-info"],
        Class::Replaced,
        "the names and nodes of this cluster",
    ),
];

/// Of the options of a JVM, beside those that are flags.
pub(super) const JVM: &[Group] = &[
    (
        &[
            "jmx_connection_type",
            "jmx_port",
            "jmx_remote_ssl",
            "jmx_remote_ssl_opts",
            "jmx_remote_ssl_require_client_auth",
            "jmx-connection-type",
            "jmx-port",
            "jmx-remote-ssl",
            "jmx-remote-ssl-opts",
            "jmx-remote-ssl-require-client-auth",
        ],
        Class::Replaced,
        "JMX is opened when it is needed",
    ),
    (
        &[
            "gc_print_application_stopped_time",
            "gc_print_date_stamps",
            "gc_print_details",
            "gc_print_flss_statistics",
            "gc_print_heap",
            "gc_print_log_file_size",
            "gc_print_number_of_log_files",
            "gc_print_promotion_failure",
            "gc_print_tenuring_distribution",
            "gc_print_use_log_file",
            "gc_print_use_log_file_rotation",
            "gc_log_file_size",
            "log_gc",
            "number_of_gc_log_files",
            "print_flss_statistics",
            "print_gc_application_stopped_time",
            "print_gc_date_stamps",
            "print_gc_details",
            "print_heap_at_gc",
            "print_promotion_failure",
            "print_tenuring_distribution",
            "use_gc_log_file_rotation",
        ],
        Class::Replaced,
        "the node's own gc.log",
    ),
    (
        &[
            "additionalJvm8ServerOptions",
            "vm_enable_non_root_thread_priority",
            "thread_priority_policy_42",
        ],
        Class::NotHere,
        "flags of Java 8; --jvm sets them",
    ),
    (
        &["debug_listen_remote_debuggers", "agent_lib_jdwp"],
        Class::NotHere,
        "no debugger listens; --jvm sets one",
    ),
];

/// Of Stargate.
pub(super) const STARGATE: &[Group] = &[(
    &[
        "affinity",
        "allowStargateOnDataNodes",
        "authOptions",
        "cassandraConfigMapRef",
        "containerImage",
        "heapSize",
        "livenessProbe",
        "metadata",
        "nodeSelector",
        "racks",
        "readinessProbe",
        "resources",
        "secretsProvider",
        "serviceAccount",
        "telemetry",
        "tolerations",
    ],
    Class::NotHere,
    "Stargate itself does not run here",
)];

/// Of a StatefulSet.
pub(super) const STATEFUL_SET: &[Group] = &[
    (&["volumeClaimTemplates"], Class::NotHere, DISK),
    (
        &[
            "minReadySeconds",
            "ordinals",
            "persistentVolumeClaimRetentionPolicy",
            "podManagementPolicy",
            "revisionHistoryLimit",
            "selector",
            "serviceName",
            "updateStrategy",
        ],
        Class::NotHere,
        PODS,
    ),
];

/// Of its pods.
pub(super) const POD: &[Group] = &[
    (
        &[
            "affinity",
            "nodeName",
            "nodeSelector",
            "priorityClassName",
            "runtimeClassName",
            "schedulerName",
            "tolerations",
            "topologySpreadConstraints",
        ],
        Class::NotHere,
        HERE,
    ),
    (
        &[
            "dnsConfig",
            "dnsPolicy",
            "hostAliases",
            "hostNetwork",
            "hostname",
            "subdomain",
        ],
        Class::Replaced,
        ADDRESS,
    ),
    (
        &[
            "automountServiceAccountToken",
            "enableServiceLinks",
            "hostIPC",
            "hostPID",
            "imagePullSecrets",
            "initContainers",
            "restartPolicy",
            "securityContext",
            "serviceAccount",
            "serviceAccountName",
            "shareProcessNamespace",
            "terminationGracePeriodSeconds",
        ],
        Class::NotHere,
        PODS,
    ),
];

/// Of the container that runs Cassandra.
pub(super) const CONTAINER: &[Group] = &[
    (
        &["args", "command", "imagePullPolicy", "workingDir"],
        Class::NotHere,
        IMAGE,
    ),
    (&["ports"], Class::Replaced, ADDRESS),
    (
        &[
            "lifecycle",
            "livenessProbe",
            "readinessProbe",
            "securityContext",
            "startupProbe",
            "stdin",
            "terminationMessagePath",
            "terminationMessagePolicy",
            "tty",
            "volumeDevices",
            "volumeMounts",
        ],
        Class::NotHere,
        PODS,
    ),
];

/// Variables of the official image.
pub(super) const VARIABLES: &[Group] = &[
    (
        &["CASSANDRA_CLUSTER_NAME"],
        Class::Replaced,
        "the name of the cluster in Helenus",
    ),
    (
        &["CASSANDRA_SEEDS"],
        Class::Replaced,
        "the nodes of this cluster",
    ),
    (
        &[
            "CASSANDRA_BROADCAST_ADDRESS",
            "CASSANDRA_BROADCAST_RPC_ADDRESS",
            "CASSANDRA_LISTEN_ADDRESS",
            "CASSANDRA_RPC_ADDRESS",
            "CASSANDRA_START_RPC",
        ],
        Class::Replaced,
        ADDRESS,
    ),
    (
        &["CASSANDRA_CONF", "CASSANDRA_LOG_DIR", "LOCAL_JMX"],
        Class::Replaced,
        "decided by Helenus",
    ),
];

/// What a stack file says about the placement of its tasks.
pub(super) const DEPLOY: &[Group] = &[(
    &[
        "mode",
        "placement",
        "endpoint_mode",
        "restart_policy",
        "update_config",
        "rollback_config",
        "labels",
    ],
    Class::NotHere,
    "there are no containers here",
)];

/// Files of a ConfigMap that are not followed.
pub(super) const FILES: &[Group] = &[
    (
        &["jvm8-server.options"],
        Class::NotHere,
        "flags of Java 8; --jvm sets them",
    ),
    (
        &["cassandra-env.sh", "cassandra.in.sh"],
        Class::NotHere,
        "a script of the image, which does not run here",
    ),
    (
        &["logback.xml", "cassandra-topology.properties"],
        Class::Replaced,
        "a file of the node",
    ),
];
