// The cassandra.yaml keys of releases before 4.1, whose loader is SnakeYAML with the Config class alone.
// It asks the same library in the same way, so it sees exactly what a node would accept.
// Refuses to convert: before 4.1 a key that was renamed kept the form of its value.

import java.lang.annotation.Annotation;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

import org.yaml.snakeyaml.introspector.BeanAccess;
import org.yaml.snakeyaml.introspector.Property;
import org.yaml.snakeyaml.introspector.PropertyUtils;

public class OldKeys extends Lines {
    // The library keeps its map of properties to subclasses; set-only ones are in it, not in its public set.
    private static final class Utils extends PropertyUtils {
        Map<String, Property> map(Class<?> type) throws Exception {
            return getPropertiesMap(type, BeanAccess.DEFAULT);
        }
    }

    public static void main(String[] args) throws Exception {
        new OldKeys().write(args[0]);
    }

    @Override
    Map<String, Property> properties(Class<?> type) throws Exception {
        Map<String, Property> writable = new TreeMap<>();
        if (type.isInterface())
            return writable;
        for (Map.Entry<String, Property> entry : new Utils().map(type).entrySet())
            if (entry.getValue().isWritable())
                writable.put(entry.getKey(), entry.getValue());
        return writable;
    }

    @Override
    boolean scalar(Class<?> type) {
        return false;
    }

    @Override
    boolean takesNull(Class<?> owner, Property property) {
        return false;
    }

    @Override
    boolean deprecated(Class<?> owner, Property property) {
        return Arrays.stream(owner.getFields())
                     .anyMatch(f -> f.getName().equals(property.getName()) && f.isAnnotationPresent(Deprecated.class));
    }

    // The annotation is there from 4.0 on, so it is asked for by name.
    @Override
    String replacedBy(Class<?> owner, String name) throws Exception {
        List<String> old = new ArrayList<>();
        for (Field field : owner.getFields())
            if (field.getName().equals(name))
                for (Annotation annotation : field.getAnnotations())
                    if (annotation.annotationType().getSimpleName().equals("Replaces"))
                        old.add(asked(annotation, "oldName") + ":IDENTITY:" + asked(annotation, "deprecated") + ":");
        return old.stream().sorted().collect(Collectors.joining(" "));
    }

    private static Object asked(Annotation annotation, String what) throws Exception {
        return annotation.annotationType().getMethod(what).invoke(annotation);
    }
}
