"""Sentences with invented personal data, marked as ⟨KIND|text⟩, and innocent ones. Measures what redaction finds:

    python -m tests.conversation.redaction_corpus

The names, numbers and addresses are made up; telephone numbers are from ranges kept for fiction where there are any.
"""

from __future__ import annotations

import re
from collections import Counter

PERSONAL = """
My name is ⟨NAME|Sarah Whitfield⟩ and I can't sleep anymore.
I'm ⟨NAME|Tom⟩, 34, and my wife left last week.
hey, im ⟨NAME|jessica⟩ and i feel like nobody cares
My sister ⟨NAME|Zuzanna⟩ found the pills and told our mother.
I talked to ⟨NAME|Priya⟩ yesterday, and ⟨NAME|Kevin⟩ was there too.
Dr. ⟨NAME|Okonkwo⟩ said I should double the dose to 40 mg.
My therapist, ⟨NAME|Margaret Ellison⟩, doesn't answer on Sundays.
⟨NAME|Will⟩'s brother hit him again; my friend ⟨NAME|Will⟩ is scared.
I told ⟨NAME|Grace⟩ that I want to die and she laughed.
My boyfriend ⟨NAME|Xolani⟩ reads all my messages.
You can reach me at ⟨PHONE|(415) 555-2671⟩ after 6 pm.
Call my mom: ⟨PHONE|+44 7700 900123⟩, she has a key.
My number is ⟨PHONE|555-0147⟩ if anything happens.
text me on ⟨PHONE|415.555.2671⟩ please
I live at ⟨ADDRESS|1420 Maple Street, Apt 4B, Springfield, IL 62704⟩ with two cats.
Send the ambulance to ⟨ADDRESS|22 Acacia Avenue, Leeds LS2 9JT⟩ now!
We moved to ⟨ADDRESS|7 Old Mill Lane⟩ in March.
My parents are at ⟨ADDRESS|P.O. Box 1182⟩, they never write.
Write to ⟨EMAIL|sarah.whitfield82@gmail.com⟩ and not to my work address.
my email is ⟨EMAIL|kev_1990@outlook.co.uk⟩, don't tell anyone
My SSN is ⟨NUMBER|536-22-1234⟩ and they still refused.
Someone charged my card ⟨NUMBER|4111 1111 1111 1111⟩ for 900 dollars.
Passport number ⟨NUMBER|X1234567⟩, issued last year.
My NHS number is ⟨NUMBER|943 476 5919⟩.
My profile is ⟨URL|https://www.facebook.com/sarah.whitfield.82⟩ if you want to see her.
On insta I'm ⟨HANDLE|@sad_kevin90⟩ and nobody follows me.
My Discord is ⟨HANDLE|nightowl#4821⟩.
username: ⟨HANDLE|lonely_wolf_77⟩, they all block me there
He logged in from ⟨IP|84.23.117.9⟩ again.
I was born on ⟨DATE|March 3, 1991⟩ and nobody remembers it.
DOB ⟨DATE|03/07/1988⟩, allergic to penicillin.
Love, ⟨NAME|Eleanor⟩
Nurse at the desk: ⟨NAME|Babajide Adeyemi⟩ will call you back.
It was Mr. ⟨NAME|Hargreaves⟩ who touched me, my maths teacher.
They call me ⟨NAME|Bibi⟩ at school and I hate it.
Account number ⟨NUMBER|00123456789⟩ is empty since my ex ⟨NAME|Darnell⟩ left.
Ich heiße ⟨NAME|Annika Schröder⟩ und ich kann nicht mehr.
Meine Schwester ⟨NAME|Lena⟩ hat mich gestern angeschrien.
Hallo, ich bin ⟨NAME|Jürgen⟩ und trinke jeden Abend.
Frau ⟨NAME|Kowalczyk⟩ vom Jugendamt war heute bei uns.
Mein Name ist ⟨NAME|Mehmet Yılmaz⟩, ich bin 41 Jahre alt.
Gestern hat ⟨NAME|Sebastian⟩ mich vor allen ausgelacht.
Ich wohne in der ⟨ADDRESS|Lindenstraße 12, 10969 Berlin⟩ im dritten Stock.
Schickt den Brief an ⟨ADDRESS|Am Alten Markt 5a, 50667 Köln⟩.
Meine Nummer ist ⟨PHONE|0171 2345678⟩, bitte nur abends.
Ruf mich an unter ⟨PHONE|+49 30 901820⟩.
Meine IBAN ist ⟨NUMBER|DE89 3704 0044 0532 0130 00⟩, da kommt nichts mehr an.
Steuer-ID ⟨NUMBER|86095742719⟩ und trotzdem kein Bescheid.
Ich bin am ⟨DATE|14.02.1979⟩ geboren und fühle mich wie 80.
Schreib mir: ⟨EMAIL|annika.schroeder@web.de⟩
Me llamo ⟨NAME|María José Fernández⟩ y no puedo dormir.
Mi hermano ⟨NAME|Íñigo⟩ me pega cuando bebe.
Ayer hablé con ⟨NAME|Lucía⟩ y no me creyó.
Soy ⟨NAME|Alejandro⟩, tengo 17 años y estoy solo.
La doctora ⟨NAME|Quiroga⟩ me dio 20 mg al día.
Vivo en la ⟨ADDRESS|Calle de Alcalá 45, 28014 Madrid⟩ con mi madre.
Mi teléfono es ⟨PHONE|612 345 678⟩ por si acaso.
Mi DNI es ⟨NUMBER|12345678Z⟩ y mi correo ⟨EMAIL|lucia.f@correo.es⟩.
Nací el ⟨DATE|5 de mayo de 2001⟩ en un pueblo pequeño.
Mi novio ⟨NAME|Joaquín⟩ dice que sin él no soy nada.
""".strip().splitlines()

INNOCENT = """
May I ask you something?
Will you stay with me tonight?
Grace and patience are what I lack.
Hope is the thing I lost first.
I hope that Mark Twain was wrong about this.
Please call 988 or text HOME to 741741.
In the UK you can call Samaritans on 116 123, day or night.
If you are in danger, call 911, 112 or 999 right now.
Call the National Domestic Violence Hotline at 1-800-799-7233.
Die Telefonseelsorge erreichst du unter 0800 111 0 111 oder 0800 1110222.
Llama al 024 o al 717 003 717 si piensas en hacerte daño.
Lifeline Australia is at 13 11 14.
I take 20 mg of fluoxetine in the morning and 0.5 mg of lorazepam at night.
She swallowed 30 tablets of 500 mg paracetamol at 10:45.
In 2019 I was 24 and still had a job.
From 2015-2019 I lived in Berlin and then in Paris.
It happened at 3:30 am on 12/05/2023, the day after Christmas.
Breathe: 4 in, 7 hold, 8 out. Then count 10 9 8 7 6 5 4 3 2 1.
My PHQ-9 was 21, my GAD-7 17, and last year 12 14 15 19 20.
There are 8,000,000 people in this city and 1000000 reasons to stay.
I'm Christian and I feel guilty all the time.
My brother is a Marine and my Father was in Vietnam.
Rose petals, a summer in April, an olive tree, and dawn.
I'm sad. I'm Scared. I'm German and living in Chelsea.
The World Health Organization and the Crisis Text Line say so.
Can you tell me what Beck's Depression Inventory measures?
See https://988lifeline.org/chat or findahelpline.com for help.
My name is not important, call me crazy.
Dear Diary, today was a Monday like any other.
You are worthless and nobody will miss you.
Meine Frau Angst zu nennen wäre falsch; die Hoffnung ist grau.
Ich heiße das nicht gut, aber im Mai war die Rose schön.
Mit Wolf und Bär im Wald: so heißt Glück bei uns, mit 10000 Menschen.
Die Ärztin sagt, 2 x 25 mg um 8:00 und 20:00 Uhr, Montag bis Freitag.
Soledad y dolor es lo que siento, ni paz ni esperanza.
Mi padre no me quiere y la luz me molesta.
El lunes 3 de abril a las 17:30 tengo terapia.
Version 1.2.3 of the app crashed at step 12345.
I paid $1,250.00 for 12 sessions, i.e. e.g. about 100 each.
Jesus, just Google it, or ask Siri; Windows 11 is broken, too.
""".strip().splitlines()

# Written after the rules. Of what it showed only one thing was mended: "Ring 13 11 14" is no street.
FRESH = """
Hi, this is ⟨NAME|Meredith⟩, I wrote you two days ago.
⟨NAME|Caroline⟩ says that I am a burden to everyone.
my ex ⟨NAME|brandon⟩ won't stop texting me
Then ⟨NAME|Hiroshi⟩ slammed the door and left.
I was with ⟨NAME|Ngozi Eze⟩ when the panic came.
Ms. ⟨NAME|Delacroix⟩ from HR wants to see me on Friday.
Signed, ⟨NAME|Theodore Blackwood⟩
I think ⟨NAME|Hope⟩ and ⟨NAME|Dean⟩ hate me now.
Our neighbour ⟨NAME|Stanislav⟩ heard the screaming.
My daughter is called ⟨NAME|Imogen⟩, she's six.
I'm at ⟨ADDRESS|305 West 11th Street⟩, third floor, please hurry.
My home is ⟨ADDRESS|48b Kingsland Rd, London E2 8AA⟩.
come get me, ⟨ADDRESS|19 willow lane⟩, door is open
phone: ⟨PHONE|212-555-0188⟩, my dad's: ⟨PHONE|+353 85 555 0199⟩
WhatsApp me, ⟨PHONE|07700 900461⟩
Mail me: ⟨EMAIL|m.delacroix+hr@firm-mail.co⟩
Card ⟨NUMBER|5500-0000-0000-0004⟩ exp 09/27, all gone on pills.
My driver's license number is ⟨NUMBER|D1234567⟩.
case number ⟨NUMBER|2023-CV-004512⟩ is still open
He posts about me: ⟨URL|https://www.tiktok.com/@mean_brandon⟩
add me on snap: ⟨HANDLE|ngozi.eze_21⟩
my birthday is ⟨DATE|09/17/2004⟩ and nobody will come
Gestern war Frau ⟨NAME|Nowak⟩ von der Krankenkasse da.
Mein Freund ⟨NAME|Tobias⟩ schlägt mich, wenn er trinkt.
⟨NAME|Heike⟩ und ich reden seit Wochen nicht mehr.
Ich bin die ⟨NAME|Gundula⟩ und habe Angst vor morgen.
Meine Adresse: ⟨ADDRESS|Goethestr. 8, 80336 München⟩
Handy: ⟨PHONE|01522 1234567⟩, aber bitte nicht tagsüber.
Geburtsdatum: ⟨DATE|3.11.1985⟩, Diagnose F32.1
Mi hija ⟨NAME|Valeria⟩ no me habla desde enero.
El señor ⟨NAME|Ibáñez⟩ me echó del trabajo.
Mi mejor amiga ⟨NAME|Rocío⟩ se mató hace un año.
Estoy en ⟨ADDRESS|Avenida de la Paz 112, 3ºB, Sevilla⟩, vengan.
Llámame al ⟨PHONE|+34 655 12 34 56⟩ cuando puedas.
Mi número de cuenta es ⟨NUMBER|ES91 2100 0418 4502 0005 1332⟩.
""".strip().splitlines()

FRESH_INNOCENT = """
Mark my words, I will not be here in June.
What would Faith even mean to me? A bill I cannot pay.
The Samaritans, the NHS and Mind all say the same.
She is 19, weighs 43 kg and is 1.68 m tall.
You could try 3-4-5 breathing for 10 minutes, 2-3 times a day.
My dose went from 37.5 to 150 mg on 2023-11-02.
I slept from 23:15 to 04:40 and woke up 7 times.
Text SHOUT to 85258 or ring 0800 58 58 58.
Ring 13 11 14, or 1800 55 1800 if you are under 25.
Is Paris in June nice? I lived in Jordan and Georgia.
My Mom and my Dad said: Just Die Already.
Call your GP, your Mum, or 111 for advice.
Am Sonntag sagte die Frau vom Amt: Ernst ist das Leben.
Du erreichst die Nummer gegen Kummer unter 116 111.
No hay mal que por bien no venga, dice mi Madre.
The rate rose by 12.5% to 3,450 cases in 100,000 people.
Give me one reason, Doctor, just one.
I read Man's Search for Meaning and The Bell Jar.
OK Google, set a timer for 25 min. Love you, bye.
I scored 100 200 300 points in level 12 of Candy Crush.
""".strip().splitlines()

_MARK = re.compile(r"⟨(\w+)\|([^⟩]+)⟩")


def unmarked(line: str) -> tuple[str, list[tuple[str, str]]]:
    """The sentence, and its personal things: (kind, text)."""
    return _MARK.sub(r"\2", line), _MARK.findall(line)


def measure(
    personal: list[str], innocent: list[str]
) -> tuple[Counter[str], Counter[str], Counter[str], list[str], int]:
    """Things by kind, those of which no part is left, false alarms by kind, what went wrong, innocent sentences changed.

    A thing is found when none of its words or digit groups stands in the output, whatever its kind was taken for. A
    false alarm is a stand-in in an innocent sentence, or one too many in another.
    """
    from psysafe.conversation import Conversation, Message
    from psysafe.conversation.redaction.redactor import Redactor

    redactor = Redactor()
    total: Counter[str] = Counter()
    found: Counter[str] = Counter()
    alarms: Counter[str] = Counter()
    notes: list[str] = []
    changed = 0
    for line in personal + innocent:
        text, things = unmarked(line)
        copy, counts = redactor.conversation(Conversation("c", (Message("user", text), Message("assistant", "I see."))))
        after = copy.messages[0].content
        left = Counter(re.findall(r"\w+", re.sub(r"\[[A-Z]+ \d+\]", " ", after)))
        kept = Counter(re.findall(r"\w+", _MARK.sub(" ", line)))
        for kind, thing in things:
            total[kind] += 1
            parts = re.findall(r"\w+", thing)
            missed = [part for part in parts if left[part] > kept[part]]
            found[kind] += not missed
            if missed:
                notes.append(f"missed {kind} {missed}: {after}")
        if not things and counts:
            changed += 1
        lost = [w for w in kept if left[w] < kept[w]]
        if lost:
            alarms.update(counts if not things else {"other": 1})
            notes.append(f"false alarm {lost}: {after}")
    return total, found, alarms, notes, changed


def main() -> None:
    """Print a table for each part."""
    for title, personal, innocent in (("written first", PERSONAL, INNOCENT), ("fresh", FRESH, FRESH_INNOCENT)):
        total, found, alarms, notes, changed = measure(personal, innocent)
        print(f"{title}: {len(personal)} sentences\nkind      things  found  recall")
        for kind in total:
            print(f"{kind:8} {total[kind]:7} {found[kind]:6}  {found[kind] / total[kind]:6.0%}")
        print(
            f"{'all':8} {sum(total.values()):7} {sum(found.values()):6}  {sum(found.values()) / sum(total.values()):6.0%}"
        )
        print(f"innocent sentences: {len(innocent)}, changed: {changed}; false alarms by kind: {dict(alarms)}")
        for line in notes:
            print(" ", line)


if __name__ == "__main__":
    main()
