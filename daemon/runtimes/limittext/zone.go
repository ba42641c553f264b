package limittext

import (
	"regexp"
	"strings"
	"sync"
	"time"

	"golang.org/x/text/unicode/norm"
)

var (
	zoneOffset = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^ ?[([]?(utc|gmt)? ?([+-])(\d{1,2})(?::?(\d{2}))?\b[)\]]?`)
	})
	zoneWords = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^ ?[([]?((?:your |my )?local(?: time)?|your time|[a-z]+(?: [a-z]+)?(?: (?:standard|daylight|summer))? time)\b[)\]]?`)
	})
	zoneName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^ ?(?:[([]([a-z][a-z0-9_+/-]*)(?: time)?[,)\]]|([a-z]+/[a-z_]+(?:/[a-z_]+)?|[a-z]{1,5}))(?:\b|$|[ ).,])`)
	})
	// otherZone matches a short name that is no zone here. Many such names have several meanings: CST, IST.
	otherZone = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Z]{2,4}T$`) })
)

// zones of which texts have only a short name or words. A name of a zone with two offsets has an entry for each.
var (
	shortZones = map[string]float64{ // hours east of UTC
		"utc": 0, "gmt": 0, "z": 0, "pst": -8, "pdt": -7, "mst": -7, "mdt": -6, "cdt": -5, "est": -5, "edt": -4, "cet": 1, "cest": 2, "eet": 2, "eest": 3,
		"bst": 1, "jst": 9, "kst": 9, "wet": 0, "west": 1, "msk": 3, "sgt": 8, "hkt": 8, "awst": 8, "aest": 10, "aedt": 11, "acst": 9.5, "acdt": 10.5,
		"nzst": 12, "nzdt": 13, "brt": -3, "akst": -9, "akdt": -8, "hst": -10,
	}
	cityZones = map[string]string{"pt": "America/Los_Angeles", "mt": "America/Denver", "ct": "America/Chicago", "et": "America/New_York"}
	// spokenZones are the first words of a zone that is written out: "Eastern Standard Time". That people say so in summer as well
	// does no harm: the zone knows.
	spokenZones = map[string]string{
		"pacific": "America/Los_Angeles", "mountain": "America/Denver", "central": "America/Chicago", "eastern": "America/New_York",
		"central european": "Europe/Berlin", "eastern european": "Europe/Helsinki", "greenwich mean": "UTC", "coordinated universal": "UTC",
		"universal": "UTC", "utc": "UTC", "gmt": "UTC", "british": "Europe/London", "london": "Europe/London", "beijing": "Asia/Shanghai", "china": "Asia/Shanghai", "singapore": "Asia/Singapore",
		"japan": "Asia/Tokyo", "india": "Asia/Kolkata", "korea": "Asia/Seoul",
	}
	china = time.FixedZone("UTC+8", 8*3600)
)

// readZone reads the zone behind a time of day or behind a date. A word in brackets must be a zone, and so must be a short name in
// capitals; any other word may be the next one of the sentence.
func (p *resetText) readZone(r *reset) {
	if r.where != nil || p.offset(r) || p.spoken(r) {
		return
	}
	m := zoneName().FindStringSubmatchIndex(p.lower)
	if m == nil {
		return
	}
	bare, from, to := m[2] < 0, m[2], m[3]
	if bare {
		from, to = m[4], m[5]
	}
	name, short := p.text[from:to], p.lower[from:to]
	hours, known := shortZones[short]
	city, hasCity := cityZones[short]
	capitals := name == strings.ToUpper(name)
	switch {
	case !bare && (dayWord().MatchString(short) || weekday().MatchString(short)), bare && !strings.Contains(name, "/") && !capitals:
		return
	case known:
		r.where = time.FixedZone(strings.ToUpper(short), int(hours*3600))
	case hasCity:
		r.where, _ = p.zone(city)
	case bare && !strings.Contains(name, "/"):
		if !otherZone().MatchString(name) {
			return
		}
		r.badZone = true
	default:
		where, err := p.zone(name)
		r.where, r.badZone = where, err != nil
	}
	p.skip(to)
}

// offset reads a zone such as UTC+2 or, behind a time of day, -0500.
func (p *resetText) offset(r *reset) bool {
	m := zoneOffset().FindStringSubmatch(p.lower)
	if m == nil || m[1] == "" && !r.timed {
		return false
	}
	east := number(m[3])*3600 + number(m[4])*60
	if m[2] == "-" {
		east = -east
	}
	r.where = time.FixedZone("", east)
	p.skip(len(m[0]))
	return true
}

// spoken reads a zone that is written out, or that of the reader.
func (p *resetText) spoken(r *reset) bool {
	m := zoneWords().FindStringSubmatch(p.lower)
	if m == nil {
		return false
	}
	name := strings.TrimSuffix(m[1], " time")
	if name == "your" || strings.HasSuffix(name, "local") {
		r.where = p.local
		p.skip(len(m[0]))
		return true
	}
	for _, kind := range []string{" standard", " daylight", " summer"} {
		name = strings.TrimSuffix(name, kind)
	}
	city, known := spokenZones[name]
	if !known {
		return false
	}
	where, err := p.zone(city)
	r.where, r.badZone = where, err != nil
	p.skip(len(m[0]))
	return true
}

// inEnglish puts the Chinese words that gateways use about limits into English, and characters into their usual form.
func inEnglish(text string) (english string, chinese bool) {
	text = norm.NFKC.String(text)
	english = chineseDate().ReplaceAllString(text, "$1-$2-$3 ")
	english = chineseWords().Replace(english)
	return english, english != text
}

var (
	chineseDate  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\d{4})年(\d{1,2})月(\d{1,2})日`) })
	chineseWords = sync.OnceValue(func() *strings.Replacer {
		return strings.NewReplacer(
			"每分钟", " per minute ", "每秒", " per second ", "每天", " daily ", "每日", " daily ", "每周", " weekly ", "每月", " monthly ",
			"今天", " today ", "明天", " tomorrow ", "小时", " hours ", "分钟", " minutes ", "秒", " seconds ", "天后", " days ",
			"将在", " resets on in ", "将于", " resets on in ", "请在", " resets on in ", "请于", " resets on in ", "后重试", " ", "重置时间", " resets at ", "恢复时间", " resets at ", "重置", " reset ", "刷新", " refresh ", "恢复", " restored ",
			"速率限制", " rate limit ", "请求频率", " rate limit ", "并发", " concurrent ", "额度", " quota ", "配额", " quota ", "限额", " usage limit ",
			"使用上限", " usage limit ", "用量上限", " usage limit ", "使用量已达上限", " usage limit ", "上限", " usage limit ",
		)
	})
)
