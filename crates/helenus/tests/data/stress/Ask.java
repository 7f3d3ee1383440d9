// Asks the real cassandra-stress: for each line of standard input (words set apart by tabs) the settings that it
// resolves, or why it refuses; for a line "draw <distribution>" mean and deviation of draws. One JVM for all.

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.security.Permission;
import org.apache.cassandra.config.DatabaseDescriptor;
import org.apache.cassandra.stress.generate.Distribution;
import org.apache.cassandra.stress.settings.OptionDistribution;
import org.apache.cassandra.stress.settings.StressSettings;
import org.apache.cassandra.stress.util.MultiResultLogger;

public class Ask {
    private static final int DRAWS = 20000;

    private static final class NoExit extends SecurityManager {
        @Override
        public void checkExit(int code) {
            throw new SecurityException("exit " + code);
        }

        @Override
        public void checkPermission(Permission permission) {
        }
    }

    private static void draw(String text) {
        Distribution distribution = OptionDistribution.get(text).get();
        distribution.setSeed(7);
        double sum = 0;
        double squares = 0;
        for (int i = 0; i < DRAWS; i++) {
            double value = distribution.next();
            sum += value;
            squares += value * value;
        }
        double mean = sum / DRAWS;
        System.out.println(mean + " " + Math.sqrt(Math.max(0, squares / DRAWS - mean * mean)));
    }

    private static void answer(String line) throws Exception {
        if (line.startsWith("draw ")) {
            draw(line.substring(5));
            return;
        }
        StressSettings settings = StressSettings.parse(line.split("\t"));
        if (settings != null) {
            settings.printSettings(new MultiResultLogger(System.out));
        }
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream out = System.out;
        System.setSecurityManager(new NoExit());
        DatabaseDescriptor.clientInitialization();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            ByteArrayOutputStream said = new ByteArrayOutputStream();
            System.setOut(new PrintStream(said, true, "UTF-8"));
            String end;
            try {
                answer(line);
                end = "taken";
            } catch (Throwable refused) {
                end = "refused: " + String.valueOf(refused.getMessage()).replace('\n', ' ');
            }
            System.out.flush();
            System.setOut(out);
            out.println("=== begin");
            out.print(said.toString("UTF-8"));
            out.println("=== " + end);
        }
        out.flush();
        System.setSecurityManager(null);
        System.exit(0);
    }
}
