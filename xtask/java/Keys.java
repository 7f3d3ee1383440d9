// Prints the cassandra.yaml keys of the release on the class path, one tab-separated line a key.
// It asks Cassandra's own loader for the properties, so it sees exactly what a node would accept.
// Refuses to interpret: names, Java types and defaults go out as they are; xtask decides.

import java.io.PrintStream;
import java.lang.reflect.Array;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.apache.cassandra.config.Config;
import org.apache.cassandra.config.Converters;
import org.apache.cassandra.config.DataRateSpec;
import org.apache.cassandra.config.DataStorageSpec;
import org.apache.cassandra.config.DatabaseDescriptor;
import org.apache.cassandra.config.DurationSpec;
import org.apache.cassandra.config.ParameterizedClass;
import org.apache.cassandra.config.Properties;
import org.apache.cassandra.config.Replacement;
import org.apache.cassandra.config.Replacements;
import org.apache.cassandra.dht.Murmur3Partitioner;
import javax.annotation.Nullable;
import org.yaml.snakeyaml.introspector.Property;

public class Keys {
    private static final Map<Class<?>, Map<String, Replacement>> REPLACED = Replacements.getNameReplacements(Config.class);

    private static PrintStream out;

    public static void main(String[] args) throws Exception {
        // Counting converters load the system tables, which want a partitioner.
        DatabaseDescriptor.setPartitionerUnsafe(Murmur3Partitioner.instance);
        // Standard output belongs to the release's logger, so the lines go to a file.
        try (PrintStream file = new PrintStream(args[0], StandardCharsets.UTF_8)) {
            out = file;
            walk(Config.class, new Config(), "", 0);
        }
    }

    // One line for each property of the type, then its nested properties under a dotted name.
    private static void walk(Class<?> type, Object instance, String prefix, int depth) {
        for (Map.Entry<String, Property> entry : new TreeMap<>(Properties.defaultLoader().getProperties(type)).entrySet()) {
            Property property = entry.getValue();
            String name = prefix + entry.getKey();
            Object value = instance == null ? null : valueOf(property, instance);
            boolean plain = plain(property.getType());
            Map<String, Property> children = plain ? Map.of() : Properties.defaultLoader().getProperties(property.getType());
            line(type, entry.getKey(), name, property, value, !children.isEmpty());
            if (!children.isEmpty() && depth < 4)
                walk(property.getType(), value, name + ".", depth + 1);
        }
    }

    private static Object valueOf(Property property, Object instance) {
        try {
            return property.get(instance);
        } catch (Exception refused) {
            return null;
        }
    }

    private static boolean plain(Class<?> type) {
        return type.isPrimitive() || type.isEnum() || type.isArray() || type == String.class || type == Object.class
               || type == Boolean.class || Number.class.isAssignableFrom(type)
               || Collection.class.isAssignableFrom(type) || Map.class.isAssignableFrom(type)
               || DurationSpec.class.isAssignableFrom(type) || DataStorageSpec.class.isAssignableFrom(type)
               || DataRateSpec.class.isAssignableFrom(type);
    }

    private static void line(Class<?> owner, String last, String name, Property property, Object value, boolean nested) {
        List<String> cells = new ArrayList<>();
        cells.add(name);
        cells.add(property.getType().getName());
        cells.add(shape(property, nested));
        cells.add(defaultText(property.getType(), value));
        cells.add(flags(property, value));
        cells.add(replacedBy(owner, last));
        out.println(String.join("\t", cells));
    }

    // What the yaml value looks like; enumerations carry their members, containers their elements.
    private static String shape(Property property, boolean nested) {
        Class<?> type = property.getType();
        if (ParameterizedClass.class.isAssignableFrom(type)) return "class";
        if (nested) return "options";
        if (type.isEnum()) return "enum " + members(type, " ");
        if (type.isArray()) return "list " + type.getComponentType().getName();
        if (Collection.class.isAssignableFrom(type) || Map.class.isAssignableFrom(type)) {
            Class<?>[] arguments = property.getActualTypeArguments();
            String inner = arguments == null ? "java.lang.Object"
                         : Stream.of(arguments).map(Keys::element).collect(Collectors.joining(" "));
            return (Map.class.isAssignableFrom(type) ? "map " : "list ") + inner;
        }
        return "scalar";
    }

    private static String element(Class<?> type) {
        return type.isEnum() ? "enum:" + members(type, "|") : type.getName();
    }

    private static String members(Class<?> type, String between) {
        return Stream.of(type.getEnumConstants()).map(m -> ((Enum<?>) m).name()).collect(Collectors.joining(between));
    }

    // "=text" for a value with a plain spelling, "" for null and for whatever has none.
    private static String defaultText(Class<?> type, Object value) {
        if (value == null) return "";
        if (value.getClass().isArray()) return Array.getLength(value) == 0 ? "=[]" : "";
        if (value instanceof Collection) return ((Collection<?>) value).isEmpty() ? "=[]" : "";
        if (value instanceof Map) return ((Map<?, ?>) value).isEmpty() ? "={}" : "";
        if (value instanceof Enum) return "=" + ((Enum<?>) value).name();
        if (plain(type)) return "=" + value.toString().replace("\t", " ").replace("\n", " ");
        return "";
    }

    // "nullable": a node takes null for it; "deprecated": the node warns about it.
    private static String flags(Property property, Object value) {
        boolean primitive = property.getType().isPrimitive();
        boolean nullable = !primitive && (value == null || property.getAnnotation(Nullable.class) != null);
        boolean deprecated = property.getAnnotation(Deprecated.class) != null;
        return Stream.of(nullable ? "nullable" : "", deprecated ? "deprecated" : "")
                     .filter(f -> !f.isEmpty()).collect(Collectors.joining(" "));
    }

    // oldName:CONVERTER:deprecated:offset, where only counting converters have an offset.
    private static String replacedBy(Class<?> owner, String name) {
        return REPLACED.getOrDefault(owner, Map.of()).values().stream()
                       .filter(r -> r.newName.equals(name))
                       .map(r -> r.oldName + ":" + r.converter.name() + ":" + r.deprecated + ":" + offset(r.converter))
                       .sorted().collect(Collectors.joining(" "));
    }

    private static String offset(Converters converter) {
        return converter.name().contains("THRESHOLD_TO_GUARDRAIL") ? String.valueOf(converter.convert(0)) : "";
    }
}
