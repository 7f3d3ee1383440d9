package org.helenus.junit;

import com.datastax.oss.driver.api.core.CqlSession;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.junit.platform.commons.support.AnnotationSupport;

/**
 * Gives tests a real Cassandra: by {@link HelenusTest} on a class, or registered as a field:
 *
 * <pre>{@code
 * @RegisterExtension
 * static final HelenusExtension cassandra = HelenusExtension.builder().nodes(3).release("4.1").build();
 * }</pre>
 */
public final class HelenusExtension implements BeforeAllCallback, BeforeEachCallback, ParameterResolver {
  private final Map<String, List<String>> built;

  /** For {@link HelenusTest}. */
  public HelenusExtension() {
    this(Map.of());
  }

  private HelenusExtension(Map<String, List<String>> built) {
    this.built = built;
  }

  /** A builder, for {@code @RegisterExtension}. */
  public static Builder builder() {
    return new Builder();
  }

  @Override
  public void beforeAll(ExtensionContext context) {
    ofClass(context);
  }

  @Override
  public void beforeEach(ExtensionContext context) {
    ofTest(context);
  }

  @Override
  public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
    Class<?> type = parameter.getParameter().getType();
    return type == CqlSession.class
        || type == Cassandra.class
        || type == InetSocketAddress.class
        || (type == String.class && parameter.isAnnotated(Keyspace.class))
        || isListOfAddresses(parameter.getParameter().getParameterizedType());
  }

  private static boolean isListOfAddresses(Type type) {
    return type instanceof ParameterizedType
        && ((ParameterizedType) type).getRawType() == List.class
        && ((ParameterizedType) type).getActualTypeArguments()[0] == InetSocketAddress.class;
  }

  @Override
  public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
    Class<?> type = parameter.getParameter().getType();
    boolean constructor = parameter.getDeclaringExecutable() instanceof Constructor;
    if (constructor && (type == CqlSession.class || type == String.class)) {
      throw HelenusException.usage(
          "a constructor has no keyspace, because tests share what it is called with",
          "take " + type.getSimpleName() + " as a parameter of the test, or of @BeforeEach");
    }
    Use use = constructor || context.getTestMethod().isEmpty() ? ofClass(context) : ofTest(context);
    if (type == CqlSession.class) {
      return use.session();
    } else if (type == Cassandra.class) {
      return use.cassandra;
    } else if (type == InetSocketAddress.class) {
      return use.cassandra.contactPoints().get(0);
    }
    return type == String.class ? use.keyspace() : use.cassandra.contactPoints();
  }

  private Use ofClass(ExtensionContext context) {
    ExtensionContext place = context;
    while (place.getTestMethod().isPresent() && place.getParent().isPresent()) {
      place = place.getParent().get();
    }
    Class<?> test = context.getRequiredTestClass();
    return use(place, () -> new ClassUse(acquire(test, context)));
  }

  private Use ofTest(ExtensionContext context) {
    ClassUse around = (ClassUse) ofClass(context);
    return use(context, () -> new TestUse(around));
  }

  private Use use(ExtensionContext place, Supplier<Use> make) {
    // Looked up under a name of the context, because stores also answer for what is around them.
    ExtensionContext.Store store = place.getStore(ExtensionContext.Namespace.create(this));
    return store.getOrComputeIfAbsent(place.getUniqueId(), id -> make.get(), Use.class);
  }

  private Running acquire(Class<?> test, ExtensionContext context) {
    ClassLoader loader = test.getClassLoader();
    Options options = Options.of(context::getConfigurationParameter, loader);
    Wish wish = options.wish(loader).with(built, loader);
    List<Class<?>> around = new ArrayList<>();
    for (Class<?> type = test; type != null; type = type.getEnclosingClass()) {
      around.add(0, type);
    }
    for (Class<?> type : around) {
      Optional<HelenusTest> found = AnnotationSupport.findAnnotation(type, HelenusTest.class);
      if (found.isPresent()) {
        wish = wish.with(Builder.of(found.get()).keys, loader);
      }
    }
    return Clusters.here().acquire(wish, options.binary(), options.owner(), "");
  }

  /** What a class or a test has of a cluster; closed by JUnit when it ends. */
  @SuppressWarnings("deprecation") // AutoCloseable alone is closed from JUnit 5.13 on.
  private abstract static class Use
      implements ExtensionContext.Store.CloseableResource, AutoCloseable {
    final Running running;
    final Cassandra cassandra;
    private String keyspace;
    private boolean made;
    private CqlSession session;

    Use(Running running) {
      this.running = running;
      cassandra = new Cassandra(running);
    }

    synchronized String keyspace() {
      if (!made) {
        made = true;
        keyspace = makeKeyspace();
      }
      return keyspace;
    }

    String makeKeyspace() {
      return running.wish.isolation() == Isolation.KEYSPACE ? running.keyspaces.make() : null;
    }

    synchronized CqlSession session() {
      if (session == null) {
        session = cassandra.own(keyspace());
      }
      return session;
    }

    /** Heals first: the driver waits for no node that a test has stopped. */
    void end() {
      try {
        cassandra.heal();
      } finally {
        cassandra.close();
        if (keyspace != null && running.wish.isolation() == Isolation.KEYSPACE) {
          running.keyspaces.retire(keyspace);
        }
      }
    }
  }

  private static final class ClassUse extends Use {
    ClassUse(Running running) {
      super(running);
    }

    @Override
    String makeKeyspace() {
      if (running.wish.isolation() == Isolation.RESET) {
        throw HelenusException.usage(
            "isolation RESET would drop what @BeforeAll makes", "give the cluster a schema: schema = \"app.cql\"");
      }
      return super.makeKeyspace();
    }

    @Override
    public void close() {
      try {
        end();
        running.awaitClosed();
      } finally {
        Clusters.here().release(running);
      }
    }
  }

  private static final class TestUse extends Use {
    private final ClassUse around;

    TestUse(ClassUse around) {
      super(around.running);
      this.around = around;
      running.enter();
    }

    @Override
    String makeKeyspace() {
      return running.wish.isolation() == Isolation.RESET && !running.wish.hasSchema() ? "test" : super.makeKeyspace();
    }

    @Override
    public void close() {
      try {
        end();
      } finally {
        try {
          // What the test broke through the class' own.
          around.cassandra.heal();
        } finally {
          running.leave();
        }
      }
    }
  }

  /** Which cluster; what is not said comes from the configuration parameters. */
  public static final class Builder {
    private final Map<String, List<String>> keys = new LinkedHashMap<>();

    private Builder() {}

    /** What an annotation says beside its defaults. */
    private static Builder of(HelenusTest test) {
      Builder builder = new Builder();
      for (Method key : HelenusTest.class.getDeclaredMethods()) {
        Object value;
        try {
          value = key.invoke(test);
        } catch (ReflectiveOperationException error) {
          throw new IllegalStateException(error);
        }
        if (value instanceof int[]) {
          builder.nodes((int[]) value);
        } else if (value instanceof Object[]) {
          builder.put(key.getName(), Arrays.stream((Object[]) value).map(String::valueOf).toArray(String[]::new));
        } else if (!value.equals(key.getDefaultValue())) {
          builder.put(key.getName(), value.toString());
        }
      }
      return builder;
    }

    /** One or more values of a key of {@link HelenusTest}, such as {@code put("tokens", "16")}. */
    public Builder put(String key, String... values) {
      if (values.length > 0) {
        keys.put(key, List.of(values));
      }
      return this;
    }

    /** Number of nodes, or one number for each data centre. */
    public Builder nodes(int... nodes) {
      String words = Arrays.stream(nodes).mapToObj(String::valueOf).collect(Collectors.joining(":"));
      return words.isEmpty() ? this : put("nodes", words);
    }

    /** Release of Cassandra, such as {@code 4.1}. */
    public Builder release(String release) {
      return put("release", release);
    }

    /** Heap of each node, such as {@code 500M}. */
    public Builder heap(String heap) {
      return put("heap", heap);
    }

    /** A file of CQL to run when the cluster is ready: a resource, or a path from the project's folder. */
    public Builder schema(String file) {
      return put("schema", file);
    }

    /** Keys of cassandra.yaml, such as {@code concurrent_reads=16}. */
    public Builder settings(String... settings) {
      return put("settings", settings);
    }

    /** Name of a cluster that runs already. */
    public Builder cluster(String name) {
      return put("cluster", name);
    }

    /** What happens between tests. */
    public Builder isolation(Isolation isolation) {
      return put("isolation", isolation.name());
    }

    /** A cluster that no other JVM uses. */
    public Builder exclusive() {
      return put("exclusive", "true");
    }

    Map<String, List<String>> keys() {
      return keys;
    }

    /** The extension. Its keys are checked when the first test begins. */
    public HelenusExtension build() {
      return new HelenusExtension(Collections.unmodifiableMap(new LinkedHashMap<>(keys)));
    }
  }
}
