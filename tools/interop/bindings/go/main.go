// Read JSON values with the generated types and write them again.
//
// A line of the input is the name of a type, a tab and a value. The answer is a line with "ok", a tab and the value as
// the type writes it, or "refused", a tab and why.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"roundtrip/xmcp"
)

type writer interface{ Marshal() ([]byte, error) }

func reads[T any, P interface {
	*T
	writer
}](unmarshal func([]byte) (T, error)) func([]byte) ([]byte, error) {
	return func(data []byte) ([]byte, error) {
		value, err := unmarshal(data)
		if err != nil {
			return nil, err
		}
		return P(&value).Marshal()
	}
}

var types = map[string]func([]byte) ([]byte, error){
	"Announcement":    reads(xmcp.UnmarshalAnnouncement),
	"AuditRecord":     reads(xmcp.UnmarshalAuditRecord),
	"ChatEvent":       reads(xmcp.UnmarshalChatEvent),
	"ConformanceEmit": reads(xmcp.UnmarshalConformanceEmit),
	"Declaration":     reads(xmcp.UnmarshalDeclaration),
	"DisplayEnvelope": reads(xmcp.UnmarshalDisplayEnvelope),
	"ErrorMeta":       reads(xmcp.UnmarshalErrorMeta),
	"RunEvent":        reads(xmcp.UnmarshalRunEvent),
	"ServerPopulated": reads(xmcp.UnmarshalServerPopulated),
	"Snapshot":        reads(xmcp.UnmarshalSnapshot),
	"ToolMetadata":    reads(xmcp.UnmarshalToolMetadata),
	"UsageRecord":     reads(xmcp.UnmarshalUsageRecord),
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), "\t")
		written, err := types[name]([]byte(value))
		if err != nil {
			fmt.Fprintf(out, "refused\t%s\n", strings.ReplaceAll(err.Error(), "\n", " "))
		} else {
			fmt.Fprintf(out, "ok\t%s\n", written)
		}
	}
}
