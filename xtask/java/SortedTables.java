// Rows of a file of ranges (IP2Location's DB11) as SSTables, by Cassandra's own writer in its quickest mode: sorted.
// It sorts the ranges itself: partitions by token, the addresses of each by their text.
// Refuses to count time: whoever starts it does.

import java.io.BufferedReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.apache.cassandra.config.DatabaseDescriptor;
import org.apache.cassandra.db.marshal.ByteBufferAccessor;
import org.apache.cassandra.db.marshal.CompositeType;
import org.apache.cassandra.dht.Murmur3Partitioner;
import org.apache.cassandra.dht.Token;
import org.apache.cassandra.io.sstable.CQLSSTableWriter;

public class SortedTables {
    record Range(long from, long to, ByteBuffer[] place) {}

    record Row(String address, Range range) {}

    record Partition(Token token, ByteBuffer[] key, List<Range> ranges) {}

    /** RANGES FOLDER TABLE INSERT THREADS */
    public static void main(String[] args) throws Exception {
        // With the node's settings, by -Dcassandra.config. With a client's it would write version oa, which an import into
        // a node with stock settings passes over without a word.
        DatabaseDescriptor.toolInitialization();
        List<Partition> partitions = partitions(Path.of(args[0]));
        long left = partitions.stream().mapToLong(SortedTables::rows).sum();
        int threads = Integer.parseInt(args[4]);
        List<Thread> all = new ArrayList<>();
        List<Throwable> failures = new ArrayList<>();
        int at = 0;
        for (int thread = threads; thread > 0; thread--) {
            // Each has a part of the ring with its share of the rows.
            int from = at;
            long share = left / thread;
            while (at < partitions.size() && share > 0) {
                long rows = rows(partitions.get(at++));
                share -= rows;
                left -= rows;
            }
            List<Partition> own = partitions.subList(from, at);
            all.add(new Thread(() -> {
                try {
                    write(own, args);
                } catch (Throwable failure) {
                    synchronized (failures) {
                        failures.add(failure);
                    }
                }
            }));
        }
        for (Thread thread : all)
            thread.start();
        for (Thread thread : all)
            thread.join();
        for (Throwable failure : failures)
            failure.printStackTrace();
        // The writer leaves threads behind.
        System.exit(failures.isEmpty() ? 0 : 1);
    }

    static List<Partition> partitions(Path file) throws Exception {
        Map<List<String>, Partition> found = new HashMap<>();
        try (BufferedReader lines = Files.newBufferedReader(file)) {
            for (String line; (line = lines.readLine()) != null; ) {
                String[] fields = line.substring(1, line.length() - 1).split("\",\"");
                ByteBuffer[] place = { bytes(fields[6]), bytes(fields[7]), bytes(fields[8]), bytes(fields[9]) };
                found.computeIfAbsent(List.of(fields[2], fields[4], fields[5]), key -> {
                    ByteBuffer[] parts = key.stream().map(SortedTables::bytes).toArray(ByteBuffer[]::new);
                    ByteBuffer whole = CompositeType.build(ByteBufferAccessor.instance, parts);
                    return new Partition(Murmur3Partitioner.instance.getToken(whole), parts, new ArrayList<>());
                }).ranges.add(new Range(Long.parseLong(fields[0]), Long.parseLong(fields[1]), place));
            }
        }
        List<Partition> sorted = new ArrayList<>(found.values());
        sorted.sort(Comparator.comparing(Partition::token));
        return sorted;
    }

    static void write(List<Partition> partitions, String[] args) throws Exception {
        if (partitions.isEmpty())
            return;
        try (CQLSSTableWriter writer = CQLSSTableWriter.builder().inDirectory(args[1]).forTable(args[2]).using(args[3])
                                                       .withPartitioner(Murmur3Partitioner.instance).sorted().build()) {
            for (Partition partition : partitions) {
                List<Row> rows = new ArrayList<>();
                for (Range range : partition.ranges)
                    for (long address = range.from; address <= range.to; address++)
                        rows.add(new Row(text(address), range));
                rows.sort(Comparator.comparing(Row::address));
                ByteBuffer[] key = partition.key;
                for (Row row : rows) {
                    ByteBuffer[] place = row.range.place;
                    writer.rawAddRow(key[0].duplicate(), key[1].duplicate(), key[2].duplicate(), bytes(row.address),
                                     place[0].duplicate(), place[1].duplicate(), place[2].duplicate(), place[3].duplicate());
                }
            }
        }
    }

    static long rows(Partition partition) {
        return partition.ranges.stream().mapToLong(range -> range.to - range.from + 1).sum();
    }

    static String text(long address) {
        return (address >> 24) + "." + (address >> 16 & 255) + "." + (address >> 8 & 255) + "." + (address & 255);
    }

    static ByteBuffer bytes(String text) {
        return ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
    }
}
