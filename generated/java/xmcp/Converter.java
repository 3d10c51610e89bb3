// Code generated from schemas/ by quicktype. DO NOT EDIT.
// Change the schema and run `uv run nox -s bindings -- --write`.

// To use this code, add the following Maven dependency to your project:
//
//
//     com.fasterxml.jackson.core     : jackson-databind          : 2.9.0
//     com.fasterxml.jackson.datatype : jackson-datatype-jsr310   : 2.9.0
//
// Import this package:
//
//     import xmcp.Converter;
//
// Then you can deserialize a JSON string with
//
//     Announcement data = Converter.AnnouncementFromJsonString(jsonString);
//     AuditRecord data = Converter.AuditRecordFromJsonString(jsonString);
//     ChatEvent data = Converter.ChatEventFromJsonString(jsonString);
//     ConformanceEmit data = Converter.ConformanceEmitFromJsonString(jsonString);
//     Declaration data = Converter.DeclarationFromJsonString(jsonString);
//     DisplayEnvelope data = Converter.DisplayEnvelopeFromJsonString(jsonString);
//     ErrorMeta data = Converter.ErrorMetaFromJsonString(jsonString);
//     RunEvent data = Converter.RunEventFromJsonString(jsonString);
//     ServerPopulated data = Converter.ServerPopulatedFromJsonString(jsonString);
//     Snapshot data = Converter.SnapshotFromJsonString(jsonString);
//     ToolMetadata data = Converter.ToolMetadataFromJsonString(jsonString);
//     UsageRecord data = Converter.UsageRecordFromJsonString(jsonString);

package xmcp;

import java.io.IOException;
import com.fasterxml.jackson.databind.*;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import java.util.*;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.time.OffsetTime;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.time.temporal.ChronoField;

public class Converter {
    // Date-time helpers

    private static final DateTimeFormatter DATE_TIME_FORMATTER = new DateTimeFormatterBuilder()
            .appendOptional(DateTimeFormatter.ISO_DATE_TIME)
            .appendOptional(DateTimeFormatter.ISO_OFFSET_DATE_TIME)
            .appendOptional(DateTimeFormatter.ISO_INSTANT)
            .appendOptional(DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ss.SX"))
            .appendOptional(DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ssX"))
            .appendOptional(DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ss"))
            .toFormatter()
            .withZone(ZoneOffset.UTC);

    public static OffsetDateTime parseDateTimeString(String str) {
        return ZonedDateTime.from(Converter.DATE_TIME_FORMATTER.parse(str)).toOffsetDateTime();
    }

    private static final DateTimeFormatter TIME_FORMATTER = new DateTimeFormatterBuilder()
            .appendOptional(DateTimeFormatter.ISO_TIME)
            .appendOptional(DateTimeFormatter.ISO_OFFSET_TIME)
            .parseDefaulting(ChronoField.YEAR, 2020)
            .parseDefaulting(ChronoField.MONTH_OF_YEAR, 1)
            .parseDefaulting(ChronoField.DAY_OF_MONTH, 1)
            .toFormatter()
            .withZone(ZoneOffset.UTC);

    public static OffsetTime parseTimeString(String str) {
        return ZonedDateTime.from(Converter.TIME_FORMATTER.parse(str)).toOffsetDateTime().toOffsetTime();
    }
    // Serialize/deserialize helpers

    public static Announcement AnnouncementFromJsonString(String json) throws IOException {
        return getAnnouncementObjectReader().readValue(json);
    }

    public static String AnnouncementToJsonString(Announcement obj) throws IOException {
        return getAnnouncementObjectWriter().writeValueAsString(obj);
    }

    public static AuditRecord AuditRecordFromJsonString(String json) throws IOException {
        return getAuditRecordObjectReader().readValue(json);
    }

    public static String AuditRecordToJsonString(AuditRecord obj) throws IOException {
        return getAuditRecordObjectWriter().writeValueAsString(obj);
    }

    public static ChatEvent ChatEventFromJsonString(String json) throws IOException {
        return getChatEventObjectReader().readValue(json);
    }

    public static String ChatEventToJsonString(ChatEvent obj) throws IOException {
        return getChatEventObjectWriter().writeValueAsString(obj);
    }

    public static ConformanceEmit ConformanceEmitFromJsonString(String json) throws IOException {
        return getConformanceEmitObjectReader().readValue(json);
    }

    public static String ConformanceEmitToJsonString(ConformanceEmit obj) throws IOException {
        return getConformanceEmitObjectWriter().writeValueAsString(obj);
    }

    public static Declaration DeclarationFromJsonString(String json) throws IOException {
        return getDeclarationObjectReader().readValue(json);
    }

    public static String DeclarationToJsonString(Declaration obj) throws IOException {
        return getDeclarationObjectWriter().writeValueAsString(obj);
    }

    public static DisplayEnvelope DisplayEnvelopeFromJsonString(String json) throws IOException {
        return getDisplayEnvelopeObjectReader().readValue(json);
    }

    public static String DisplayEnvelopeToJsonString(DisplayEnvelope obj) throws IOException {
        return getDisplayEnvelopeObjectWriter().writeValueAsString(obj);
    }

    public static ErrorMeta ErrorMetaFromJsonString(String json) throws IOException {
        return getErrorMetaObjectReader().readValue(json);
    }

    public static String ErrorMetaToJsonString(ErrorMeta obj) throws IOException {
        return getErrorMetaObjectWriter().writeValueAsString(obj);
    }

    public static RunEvent RunEventFromJsonString(String json) throws IOException {
        return getRunEventObjectReader().readValue(json);
    }

    public static String RunEventToJsonString(RunEvent obj) throws IOException {
        return getRunEventObjectWriter().writeValueAsString(obj);
    }

    public static ServerPopulated ServerPopulatedFromJsonString(String json) throws IOException {
        return getServerPopulatedObjectReader().readValue(json);
    }

    public static String ServerPopulatedToJsonString(ServerPopulated obj) throws IOException {
        return getServerPopulatedObjectWriter().writeValueAsString(obj);
    }

    public static Snapshot SnapshotFromJsonString(String json) throws IOException {
        return getSnapshotObjectReader().readValue(json);
    }

    public static String SnapshotToJsonString(Snapshot obj) throws IOException {
        return getSnapshotObjectWriter().writeValueAsString(obj);
    }

    public static ToolMetadata ToolMetadataFromJsonString(String json) throws IOException {
        return getToolMetadataObjectReader().readValue(json);
    }

    public static String ToolMetadataToJsonString(ToolMetadata obj) throws IOException {
        return getToolMetadataObjectWriter().writeValueAsString(obj);
    }

    public static UsageRecord UsageRecordFromJsonString(String json) throws IOException {
        return getUsageRecordObjectReader().readValue(json);
    }

    public static String UsageRecordToJsonString(UsageRecord obj) throws IOException {
        return getUsageRecordObjectWriter().writeValueAsString(obj);
    }

    private static ObjectReader AnnouncementReader;
    private static ObjectWriter AnnouncementWriter;

    private static void instantiateAnnouncementMapper() {
        ObjectMapper mapper = new ObjectMapper();
        mapper.findAndRegisterModules();
        mapper.configure(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, false);
        mapper.configure(SerializationFeature.WRITE_DATES_AS_TIMESTAMPS, false);
        SimpleModule module = new SimpleModule();
        module.addDeserializer(OffsetDateTime.class, new JsonDeserializer<OffsetDateTime>() {
            @Override
            public OffsetDateTime deserialize(JsonParser jsonParser, DeserializationContext deserializationContext) throws IOException, JsonProcessingException {
                String value = jsonParser.getText();
                return Converter.parseDateTimeString(value);
            }
        });
        mapper.registerModule(module);
        AnnouncementReader = mapper.readerFor(Announcement.class);
        AnnouncementWriter = mapper.writerFor(Announcement.class);
    }

    private static ObjectReader getAnnouncementObjectReader() {
        if (AnnouncementReader == null) instantiateAnnouncementMapper();
        return AnnouncementReader;
    }

    private static ObjectWriter getAnnouncementObjectWriter() {
        if (AnnouncementWriter == null) instantiateAnnouncementMapper();
        return AnnouncementWriter;
    }

    private static ObjectReader AuditRecordReader;
    private static ObjectWriter AuditRecordWriter;

    private static void instantiateAuditRecordMapper() {
        ObjectMapper mapper = new ObjectMapper();
        mapper.findAndRegisterModules();
        mapper.configure(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, false);
        mapper.configure(SerializationFeature.WRITE_DATES_AS_TIMESTAMPS, false);
        SimpleModule module = new SimpleModule();
        module.addDeserializer(OffsetDateTime.class, new JsonDeserializer<OffsetDateTime>() {
            @Override
            public OffsetDateTime deserialize(JsonParser jsonParser, DeserializationContext deserializationContext) throws IOException, JsonProcessingException {
                String value = jsonParser.getText();
                return Converter.parseDateTimeString(value);
            }
        });
        mapper.registerModule(module);
        AuditRecordReader = mapper.readerFor(AuditRecord.class);
        AuditRecordWriter = mapper.writerFor(AuditRecord.class);
    }

    private static ObjectReader getAuditRecordObjectReader() {
        if (AuditRecordReader == null) instantiateAuditRecordMapper();
        return AuditRecordReader;
    }

    private static ObjectWriter getAuditRecordObjectWriter() {
        if (AuditRecordWriter == null) instantiateAuditRecordMapper();
        return AuditRecordWriter;
    }

    private static ObjectReader ChatEventReader;
    private static ObjectWriter ChatEventWriter;

    private static void instantiateChatEventMapper() {
        ObjectMapper mapper = new ObjectMapper();
        mapper.findAndRegisterModules();
        mapper.configure(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, false);
        mapper.configure(SerializationFeature.WRITE_DATES_AS_TIMESTAMPS, false);
        SimpleModule module = new SimpleModule();
        module.addDeserializer(OffsetDateTime.class, new JsonDeserializer<OffsetDateTime>() {
            @Override
            public OffsetDateTime deserialize(JsonParser jsonParser, DeserializationContext deserializationContext) throws IOException, JsonProcessingException {
                String value = jsonParser.getText();
                return Converter.parseDateTimeString(value);
            }
        });
        mapper.registerModule(module);
        ChatEventReader = mapper.readerFor(ChatEvent.class);
        ChatEventWriter = mapper.writerFor(ChatEvent.class);
    }

    private static ObjectReader getChatEventObjectReader() {
        if (ChatEventReader == null) instantiateChatEventMapper();
        return ChatEventReader;
    }

    private static ObjectWriter getChatEventObjectWriter() {
        if (ChatEventWriter == null) instantiateChatEventMapper();
        return ChatEventWriter;
    }

    private static ObjectReader ConformanceEmitReader;
    private static ObjectWriter ConformanceEmitWriter;

    private static void instantiateConformanceEmitMapper() {
        ObjectMapper mapper = new ObjectMapper();
        mapper.findAndRegisterModules();
        mapper.configure(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, false);
        mapper.configure(SerializationFeature.WRITE_DATES_AS_TIMESTAMPS, false);
        SimpleModule module = new SimpleModule();
        module.addDeserializer(OffsetDateTime.class, new JsonDeserializer<OffsetDateTime>() {
            @Override
            public OffsetDateTime deserialize(JsonParser jsonParser, DeserializationContext deserializationContext) throws IOException, JsonProcessingException {
                String value = jsonParser.getText();
                return Converter.parseDateTimeString(value);
            }
        });
        mapper.registerModule(module);
        ConformanceEmitReader = mapper.readerFor(ConformanceEmit.class);
        ConformanceEmitWriter = mapper.writerFor(ConformanceEmit.class);
    }

    private static ObjectReader getConformanceEmitObjectReader() {
        if (ConformanceEmitReader == null) instantiateConformanceEmitMapper();
        return ConformanceEmitReader;
    }

    private static ObjectWriter getConformanceEmitObjectWriter() {
        if (ConformanceEmitWriter == null) instantiateConformanceEmitMapper();
        return ConformanceEmitWriter;
    }

    private static ObjectReader DeclarationReader;
    private static ObjectWriter DeclarationWriter;

    private static void instantiateDeclarationMapper() {
        ObjectMapper mapper = new ObjectMapper();
        mapper.findAndRegisterModules();
        mapper.configure(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, false);
        mapper.configure(SerializationFeature.WRITE_DATES_AS_TIMESTAMPS, false);
        SimpleModule module = new SimpleModule();
        module.addDeserializer(OffsetDateTime.class, new JsonDeserializer<OffsetDateTime>() {
            @Override
            public OffsetDateTime deserialize(JsonParser jsonParser, DeserializationContext deserializationContext) throws IOException, JsonProcessingException {
                String value = jsonParser.getText();
                return Converter.parseDateTimeString(value);
            }
        });
        mapper.registerModule(module);
        DeclarationReader = mapper.readerFor(Declaration.class);
        DeclarationWriter = mapper.writerFor(Declaration.class);
    }

    private static ObjectReader getDeclarationObjectReader() {
        if (DeclarationReader == null) instantiateDeclarationMapper();
        return DeclarationReader;
    }

    private static ObjectWriter getDeclarationObjectWriter() {
        if (DeclarationWriter == null) instantiateDeclarationMapper();
        return DeclarationWriter;
    }

    private static ObjectReader DisplayEnvelopeReader;
    private static ObjectWriter DisplayEnvelopeWriter;

    private static void instantiateDisplayEnvelopeMapper() {
        ObjectMapper mapper = new ObjectMapper();
        mapper.findAndRegisterModules();
        mapper.configure(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, false);
        mapper.configure(SerializationFeature.WRITE_DATES_AS_TIMESTAMPS, false);
        SimpleModule module = new SimpleModule();
        module.addDeserializer(OffsetDateTime.class, new JsonDeserializer<OffsetDateTime>() {
            @Override
            public OffsetDateTime deserialize(JsonParser jsonParser, DeserializationContext deserializationContext) throws IOException, JsonProcessingException {
                String value = jsonParser.getText();
                return Converter.parseDateTimeString(value);
            }
        });
        mapper.registerModule(module);
        DisplayEnvelopeReader = mapper.readerFor(DisplayEnvelope.class);
        DisplayEnvelopeWriter = mapper.writerFor(DisplayEnvelope.class);
    }

    private static ObjectReader getDisplayEnvelopeObjectReader() {
        if (DisplayEnvelopeReader == null) instantiateDisplayEnvelopeMapper();
        return DisplayEnvelopeReader;
    }

    private static ObjectWriter getDisplayEnvelopeObjectWriter() {
        if (DisplayEnvelopeWriter == null) instantiateDisplayEnvelopeMapper();
        return DisplayEnvelopeWriter;
    }

    private static ObjectReader ErrorMetaReader;
    private static ObjectWriter ErrorMetaWriter;

    private static void instantiateErrorMetaMapper() {
        ObjectMapper mapper = new ObjectMapper();
        mapper.findAndRegisterModules();
        mapper.configure(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, false);
        mapper.configure(SerializationFeature.WRITE_DATES_AS_TIMESTAMPS, false);
        SimpleModule module = new SimpleModule();
        module.addDeserializer(OffsetDateTime.class, new JsonDeserializer<OffsetDateTime>() {
            @Override
            public OffsetDateTime deserialize(JsonParser jsonParser, DeserializationContext deserializationContext) throws IOException, JsonProcessingException {
                String value = jsonParser.getText();
                return Converter.parseDateTimeString(value);
            }
        });
        mapper.registerModule(module);
        ErrorMetaReader = mapper.readerFor(ErrorMeta.class);
        ErrorMetaWriter = mapper.writerFor(ErrorMeta.class);
    }

    private static ObjectReader getErrorMetaObjectReader() {
        if (ErrorMetaReader == null) instantiateErrorMetaMapper();
        return ErrorMetaReader;
    }

    private static ObjectWriter getErrorMetaObjectWriter() {
        if (ErrorMetaWriter == null) instantiateErrorMetaMapper();
        return ErrorMetaWriter;
    }

    private static ObjectReader RunEventReader;
    private static ObjectWriter RunEventWriter;

    private static void instantiateRunEventMapper() {
        ObjectMapper mapper = new ObjectMapper();
        mapper.findAndRegisterModules();
        mapper.configure(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, false);
        mapper.configure(SerializationFeature.WRITE_DATES_AS_TIMESTAMPS, false);
        SimpleModule module = new SimpleModule();
        module.addDeserializer(OffsetDateTime.class, new JsonDeserializer<OffsetDateTime>() {
            @Override
            public OffsetDateTime deserialize(JsonParser jsonParser, DeserializationContext deserializationContext) throws IOException, JsonProcessingException {
                String value = jsonParser.getText();
                return Converter.parseDateTimeString(value);
            }
        });
        mapper.registerModule(module);
        RunEventReader = mapper.readerFor(RunEvent.class);
        RunEventWriter = mapper.writerFor(RunEvent.class);
    }

    private static ObjectReader getRunEventObjectReader() {
        if (RunEventReader == null) instantiateRunEventMapper();
        return RunEventReader;
    }

    private static ObjectWriter getRunEventObjectWriter() {
        if (RunEventWriter == null) instantiateRunEventMapper();
        return RunEventWriter;
    }

    private static ObjectReader ServerPopulatedReader;
    private static ObjectWriter ServerPopulatedWriter;

    private static void instantiateServerPopulatedMapper() {
        ObjectMapper mapper = new ObjectMapper();
        mapper.findAndRegisterModules();
        mapper.configure(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, false);
        mapper.configure(SerializationFeature.WRITE_DATES_AS_TIMESTAMPS, false);
        SimpleModule module = new SimpleModule();
        module.addDeserializer(OffsetDateTime.class, new JsonDeserializer<OffsetDateTime>() {
            @Override
            public OffsetDateTime deserialize(JsonParser jsonParser, DeserializationContext deserializationContext) throws IOException, JsonProcessingException {
                String value = jsonParser.getText();
                return Converter.parseDateTimeString(value);
            }
        });
        mapper.registerModule(module);
        ServerPopulatedReader = mapper.readerFor(ServerPopulated.class);
        ServerPopulatedWriter = mapper.writerFor(ServerPopulated.class);
    }

    private static ObjectReader getServerPopulatedObjectReader() {
        if (ServerPopulatedReader == null) instantiateServerPopulatedMapper();
        return ServerPopulatedReader;
    }

    private static ObjectWriter getServerPopulatedObjectWriter() {
        if (ServerPopulatedWriter == null) instantiateServerPopulatedMapper();
        return ServerPopulatedWriter;
    }

    private static ObjectReader SnapshotReader;
    private static ObjectWriter SnapshotWriter;

    private static void instantiateSnapshotMapper() {
        ObjectMapper mapper = new ObjectMapper();
        mapper.findAndRegisterModules();
        mapper.configure(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, false);
        mapper.configure(SerializationFeature.WRITE_DATES_AS_TIMESTAMPS, false);
        SimpleModule module = new SimpleModule();
        module.addDeserializer(OffsetDateTime.class, new JsonDeserializer<OffsetDateTime>() {
            @Override
            public OffsetDateTime deserialize(JsonParser jsonParser, DeserializationContext deserializationContext) throws IOException, JsonProcessingException {
                String value = jsonParser.getText();
                return Converter.parseDateTimeString(value);
            }
        });
        mapper.registerModule(module);
        SnapshotReader = mapper.readerFor(Snapshot.class);
        SnapshotWriter = mapper.writerFor(Snapshot.class);
    }

    private static ObjectReader getSnapshotObjectReader() {
        if (SnapshotReader == null) instantiateSnapshotMapper();
        return SnapshotReader;
    }

    private static ObjectWriter getSnapshotObjectWriter() {
        if (SnapshotWriter == null) instantiateSnapshotMapper();
        return SnapshotWriter;
    }

    private static ObjectReader ToolMetadataReader;
    private static ObjectWriter ToolMetadataWriter;

    private static void instantiateToolMetadataMapper() {
        ObjectMapper mapper = new ObjectMapper();
        mapper.findAndRegisterModules();
        mapper.configure(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, false);
        mapper.configure(SerializationFeature.WRITE_DATES_AS_TIMESTAMPS, false);
        SimpleModule module = new SimpleModule();
        module.addDeserializer(OffsetDateTime.class, new JsonDeserializer<OffsetDateTime>() {
            @Override
            public OffsetDateTime deserialize(JsonParser jsonParser, DeserializationContext deserializationContext) throws IOException, JsonProcessingException {
                String value = jsonParser.getText();
                return Converter.parseDateTimeString(value);
            }
        });
        mapper.registerModule(module);
        ToolMetadataReader = mapper.readerFor(ToolMetadata.class);
        ToolMetadataWriter = mapper.writerFor(ToolMetadata.class);
    }

    private static ObjectReader getToolMetadataObjectReader() {
        if (ToolMetadataReader == null) instantiateToolMetadataMapper();
        return ToolMetadataReader;
    }

    private static ObjectWriter getToolMetadataObjectWriter() {
        if (ToolMetadataWriter == null) instantiateToolMetadataMapper();
        return ToolMetadataWriter;
    }

    private static ObjectReader UsageRecordReader;
    private static ObjectWriter UsageRecordWriter;

    private static void instantiateUsageRecordMapper() {
        ObjectMapper mapper = new ObjectMapper();
        mapper.findAndRegisterModules();
        mapper.configure(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, false);
        mapper.configure(SerializationFeature.WRITE_DATES_AS_TIMESTAMPS, false);
        SimpleModule module = new SimpleModule();
        module.addDeserializer(OffsetDateTime.class, new JsonDeserializer<OffsetDateTime>() {
            @Override
            public OffsetDateTime deserialize(JsonParser jsonParser, DeserializationContext deserializationContext) throws IOException, JsonProcessingException {
                String value = jsonParser.getText();
                return Converter.parseDateTimeString(value);
            }
        });
        mapper.registerModule(module);
        UsageRecordReader = mapper.readerFor(UsageRecord.class);
        UsageRecordWriter = mapper.writerFor(UsageRecord.class);
    }

    private static ObjectReader getUsageRecordObjectReader() {
        if (UsageRecordReader == null) instantiateUsageRecordMapper();
        return UsageRecordReader;
    }

    private static ObjectWriter getUsageRecordObjectWriter() {
        if (UsageRecordWriter == null) instantiateUsageRecordMapper();
        return UsageRecordWriter;
    }
}
