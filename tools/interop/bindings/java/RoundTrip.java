import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import xmcp.Converter;

/**
 * Read JSON values with the generated types and write them again.
 *
 * <p>A line of the input is the name of a type, a tab and a value. The answer is a line with "ok", a tab and the value
 * as the type writes it, or "refused", a tab and why.
 */
public class RoundTrip {
    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            int tab = line.indexOf('\t');
            Class<?> type = Class.forName("xmcp." + line.substring(0, tab));
            String name = type.getSimpleName();
            try {
                Object value = Converter.class.getMethod(name + "FromJsonString", String.class)
                        .invoke(null, line.substring(tab + 1));
                Object written = Converter.class.getMethod(name + "ToJsonString", type).invoke(null, value);
                out.print("ok\t" + written + "\n");
            } catch (InvocationTargetException refused) {
                out.print("refused\t" + refused.getCause().toString().replaceAll("\\s+", " ") + "\n");
            }
        }
        out.flush();
    }
}
