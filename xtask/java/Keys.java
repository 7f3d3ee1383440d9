// The cassandra.yaml keys of releases from 4.1 on, whose loader has classes of its own for them.
// It asks that loader for the properties, so it sees exactly what a node would accept.
// Refuses older releases: OldKeys asks theirs.

import java.util.Map;
import java.util.stream.Collectors;

import org.apache.cassandra.config.Config;
import org.apache.cassandra.config.Converters;
import org.apache.cassandra.config.DataRateSpec;
import org.apache.cassandra.config.DataStorageSpec;
import org.apache.cassandra.config.DatabaseDescriptor;
import org.apache.cassandra.config.DurationSpec;
import org.apache.cassandra.config.Properties;
import org.apache.cassandra.config.Replacement;
import org.apache.cassandra.config.Replacements;
import org.apache.cassandra.dht.Murmur3Partitioner;
import javax.annotation.Nullable;
import org.yaml.snakeyaml.introspector.Property;

public class Keys extends Lines {
    private static final Map<Class<?>, Map<String, Replacement>> REPLACED = Replacements.getNameReplacements(Config.class);

    public static void main(String[] args) throws Exception {
        // Counting converters load the system tables, which want a partitioner.
        DatabaseDescriptor.setPartitionerUnsafe(Murmur3Partitioner.instance);
        new Keys().write(args[0]);
    }

    @Override
    Map<String, Property> properties(Class<?> type) {
        return Properties.defaultLoader().getProperties(type);
    }

    @Override
    boolean scalar(Class<?> type) {
        return DurationSpec.class.isAssignableFrom(type) || DataStorageSpec.class.isAssignableFrom(type)
               || DataRateSpec.class.isAssignableFrom(type);
    }

    @Override
    boolean takesNull(Class<?> owner, Property property) {
        return property.getAnnotation(Nullable.class) != null;
    }

    @Override
    boolean deprecated(Class<?> owner, Property property) {
        return property.getAnnotation(Deprecated.class) != null;
    }

    // Only counting converters have an offset.
    @Override
    String replacedBy(Class<?> owner, String name) {
        return REPLACED.getOrDefault(owner, Map.of()).values().stream()
                       .filter(r -> r.newName.equals(name))
                       .map(r -> r.oldName + ":" + r.converter.name() + ":" + r.deprecated + ":" + offset(r.converter))
                       .sorted().collect(Collectors.joining(" "));
    }

    private static String offset(Converters converter) {
        return converter.name().contains("THRESHOLD_TO_GUARDRAIL") ? String.valueOf(converter.convert(0)) : "";
    }
}
