// Code generated from schemas/ by quicktype. DO NOT EDIT.
// Change the schema and run `uv run nox -s bindings -- --write`.

package xmcp;

import java.io.IOException;
import java.io.IOException;
import com.fasterxml.jackson.core.*;
import com.fasterxml.jackson.databind.*;
import com.fasterxml.jackson.databind.annotation.*;
import com.fasterxml.jackson.core.type.*;

/**
 * The text for the model; or, where it has surrogates that are not paired, its code units.
 */
@JsonDeserialize(using = LlmOutput.Deserializer.class)
@JsonSerialize(using = LlmOutput.Serializer.class)
public class LlmOutput {
    public CodeUnits codeUnitsValue;
    public String stringValue;

    static class Deserializer extends JsonDeserializer<LlmOutput> {
        @Override
        public LlmOutput deserialize(JsonParser jsonParser, DeserializationContext deserializationContext) throws IOException, JsonProcessingException {
            LlmOutput value = new LlmOutput();
            switch (jsonParser.currentToken()) {
                case VALUE_NULL:
                    break;
                case VALUE_STRING:
                    String string = jsonParser.readValueAs(String.class);
                    value.stringValue = string;
                    break;
                case START_OBJECT:
                    value.codeUnitsValue = jsonParser.readValueAs(CodeUnits.class);
                    break;
                default: throw new IOException("Cannot deserialize LlmOutput");
            }
            return value;
        }
    }

    static class Serializer extends JsonSerializer<LlmOutput> {
        @Override
        public void serialize(LlmOutput obj, JsonGenerator jsonGenerator, SerializerProvider serializerProvider) throws IOException {
            if (obj.codeUnitsValue != null) {
                jsonGenerator.writeObject(obj.codeUnitsValue);
                return;
            }
            if (obj.stringValue != null) {
                jsonGenerator.writeObject(obj.stringValue);
                return;
            }
            jsonGenerator.writeNull();
        }
    }
}
