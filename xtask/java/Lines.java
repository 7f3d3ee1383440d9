// One tab-separated line for each cassandra.yaml key of the release on the class path.
// What the loaders of all releases have in common; how each finds its properties is the subclass's to say.
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
import org.apache.cassandra.config.ParameterizedClass;
import org.yaml.snakeyaml.introspector.Property;

abstract class Lines {
    private PrintStream out;

    // The properties that a node takes inside of this type.
    abstract Map<String, Property> properties(Class<?> type) throws Exception;

    // oldName:CONVERTER:deprecated:offset of each name that the property replaces.
    abstract String replacedBy(Class<?> owner, String name) throws Exception;

    // Whether the property carries a mark of its own that it takes null.
    abstract boolean takesNull(Class<?> owner, Property property);

    abstract boolean deprecated(Class<?> owner, Property property);

    // Whether a type is written as one value, beyond Java's own types.
    abstract boolean scalar(Class<?> type);

    void write(String file) throws Exception {
        // Standard output belongs to the release's logger, so the lines go to a file.
        try (PrintStream lines = new PrintStream(file, StandardCharsets.UTF_8)) {
            out = lines;
            walk(Config.class, new Config(), "", 0);
        }
    }

    // One line for each property of the type, then its nested properties under a dotted name.
    private void walk(Class<?> type, Object instance, String prefix, int depth) throws Exception {
        for (Map.Entry<String, Property> entry : new TreeMap<>(properties(type)).entrySet()) {
            Property property = entry.getValue();
            String name = prefix + entry.getKey();
            Object value = instance == null ? null : valueOf(property, instance);
            boolean plain = plain(property.getType());
            Map<String, Property> children = plain ? Map.of() : properties(property.getType());
            line(type, entry.getKey(), name, property, value, !children.isEmpty());
            if (!children.isEmpty() && depth < 4)
                walk(property.getType(), value, name + ".", depth + 1);
        }
    }

    private Object valueOf(Property property, Object instance) {
        try {
            return property.get(instance);
        } catch (Exception refused) {
            return null;
        }
    }

    private boolean plain(Class<?> type) {
        return type.isPrimitive() || type.isEnum() || type.isArray() || type == String.class || type == Object.class
               || type == Boolean.class || Number.class.isAssignableFrom(type)
               || Collection.class.isAssignableFrom(type) || Map.class.isAssignableFrom(type) || scalar(type);
    }

    private void line(Class<?> owner, String last, String name, Property property, Object value, boolean nested) throws Exception {
        List<String> cells = new ArrayList<>();
        cells.add(name);
        cells.add(property.getType().getName());
        cells.add(shape(property, nested));
        cells.add(defaultText(property.getType(), value));
        cells.add(flags(owner, property, value));
        cells.add(replacedBy(owner, last));
        out.println(String.join("\t", cells));
    }

    // What the yaml value looks like; enumerations carry their members, containers their elements.
    private String shape(Property property, boolean nested) {
        Class<?> type = property.getType();
        if (ParameterizedClass.class.isAssignableFrom(type)) return "class";
        if (nested) return "options";
        if (type.isEnum()) return "enum " + members(type, " ");
        if (type.isArray()) return "list " + type.getComponentType().getName();
        if (Collection.class.isAssignableFrom(type) || Map.class.isAssignableFrom(type)) {
            Class<?>[] arguments = property.getActualTypeArguments();
            String inner = arguments == null ? "java.lang.Object"
                         : Stream.of(arguments).map(this::element).collect(Collectors.joining(" "));
            return (Map.class.isAssignableFrom(type) ? "map " : "list ") + inner;
        }
        return "scalar";
    }

    private String element(Class<?> type) {
        return type.isEnum() ? "enum:" + members(type, "|") : type.getName();
    }

    private String members(Class<?> type, String between) {
        return Stream.of(type.getEnumConstants()).map(m -> ((Enum<?>) m).name()).collect(Collectors.joining(between));
    }

    // "=text" for a value with a plain spelling, "" for null and for whatever has none.
    private String defaultText(Class<?> type, Object value) {
        if (value == null) return "";
        if (value.getClass().isArray()) return Array.getLength(value) == 0 ? "=[]" : "";
        if (value instanceof Collection) return ((Collection<?>) value).isEmpty() ? "=[]" : "";
        if (value instanceof Map) return ((Map<?, ?>) value).isEmpty() ? "={}" : "";
        if (value instanceof Enum) return "=" + ((Enum<?>) value).name();
        if (plain(type)) return "=" + value.toString().replace("\t", " ").replace("\n", " ");
        return "";
    }

    // "nullable": a node takes null for it; "deprecated": the node warns about it.
    private String flags(Class<?> owner, Property property, Object value) {
        boolean primitive = property.getType().isPrimitive();
        boolean nullable = !primitive && (value == null || takesNull(owner, property));
        return Stream.of(nullable ? "nullable" : "", deprecated(owner, property) ? "deprecated" : "")
                     .filter(f -> !f.isEmpty()).collect(Collectors.joining(" "));
    }
}
