// Code generated from schemas/ by quicktype. DO NOT EDIT.
// Change the schema and run `uv run nox -s bindings -- --write`.

package xmcp;

import java.io.IOException;
import java.io.IOException;
import com.fasterxml.jackson.core.*;
import com.fasterxml.jackson.databind.*;
import com.fasterxml.jackson.databind.annotation.*;
import com.fasterxml.jackson.core.type.*;
import java.util.List;
import java.util.Map;

/**
 * The data to render, in the shape the type prescribes.
 */
@JsonDeserialize(using = DisplayPayload.Deserializer.class)
@JsonSerialize(using = DisplayPayload.Serializer.class)
public class DisplayPayload {
    public String stringValue;
    public List<Object> anythingArrayValue;
    public Map<String, Object> anythingMapValue;

    static class Deserializer extends JsonDeserializer<DisplayPayload> {
        @Override
        public DisplayPayload deserialize(JsonParser jsonParser, DeserializationContext deserializationContext) throws IOException, JsonProcessingException {
            DisplayPayload value = new DisplayPayload();
            switch (jsonParser.currentToken()) {
                case VALUE_STRING:
                    String string = jsonParser.readValueAs(String.class);
                    value.stringValue = string;
                    break;
                case START_ARRAY:
                    value.anythingArrayValue = jsonParser.readValueAs(new TypeReference<List<Object>>() {});
                    break;
                case START_OBJECT:
                    value.anythingMapValue = jsonParser.readValueAs(Map.class);
                    break;
                default: throw new IOException("Cannot deserialize DisplayPayload");
            }
            return value;
        }
    }

    static class Serializer extends JsonSerializer<DisplayPayload> {
        @Override
        public void serialize(DisplayPayload obj, JsonGenerator jsonGenerator, SerializerProvider serializerProvider) throws IOException {
            if (obj.stringValue != null) {
                jsonGenerator.writeObject(obj.stringValue);
                return;
            }
            if (obj.anythingArrayValue != null) {
                jsonGenerator.writeObject(obj.anythingArrayValue);
                return;
            }
            if (obj.anythingMapValue != null) {
                jsonGenerator.writeObject(obj.anythingMapValue);
                return;
            }
            throw new IOException("DisplayPayload must not be null");
        }
    }
}
