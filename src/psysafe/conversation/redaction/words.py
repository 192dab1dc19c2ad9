"""Word lists of the name finder: what may be a given name and is often something else."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Given names that are ordinary words of English, German, Spanish or French. Capitalised in the middle of a
# sentence they are taken for names; at its start only beside a cue ("my friend Will").
WORDS = _words(
    """
    abbey adoración alba albino alma alta amado amar amber amor amparo anda angel ánge ante archer aria art ascensión
    aura aurora autumn bas beat beau bella bienvenida bill billy blanca bonnie brandy brooke bruno cal campo can canal
    candela candelaria cara caridad carmel carmen carol chad charity chase chus cielo clemente concepción concha
    constance consuelo cooper coral corona cristal crystal cruz curt custodio daisy dale dawn dean del destiny diamond
    dick dirk dom domingo don drew dulce earl ebony edit ella else engin ernst esa esmeralda esperanza estrella eta eve
    ever faith fanny felicidad felice flor flora frank franco gala gene germán german gil glen gloria grace gracia
    grant greca grit gun guy hardy harm harmony harry harsh hazel heather heide hector holly hope hunter iris isla ivy
    jack jade jasmine jay jet job jordán josh joy jo junior ken kick lady lana lance lea leider lean lee leona león
    li lila lily linda linde line lo lot love lucero lucky luna luz mar marina marine mark max may meg melody mentor
    meta mía mina mira misty mona mora moreno morena musa my nacho nada neo
    nick nieves nora norma nova olive pastor patience
    patty paz pearl penny per perla pero phoenix piedad pierce pilar piper poppy prudence rana randy raven ray reina
    rich rico rob robin rocío roman rosa rosario rose rosemary ruby rut said salud salvador sandy segundo serena sierra
    sky sol soledad sonny star stella stern sue summer tan tanner tara tea terry till tilde timo toma tony trinidad
    trinity troy una unique urban us uta van vera victor victoria vida viola violet virgen warren wilder will willow
    wolf wolfram zara jolie reine claire ville vide van sam miles pat wade art drew lance forest hunter sage clay
    buddy precious baby honey sunny happy blessing comfort mercy kader milan brett horst jude kasper lasse anders
    beste tage franz max kurt rainer reiner gold silver storm river rain ocean ash basil ginger cherry candy
    faith charity chance cash major royal princess king prince duke baron sterling noble justice liberty
    deniz ay su can umut sevgi barış güneş bahar çiçek yağmur rüya
    """
)

# Given names that are months, places, peoples or beliefs, or the names of machines and gods: names only
# beside a cue or before a known surname.
PLACES_AND_TIMES = _words(
    """
    abril américa america april asia august augusta austin berlin boston brooklyn carolina catalina chelsea china
    christian cristiana dakota dallas devon domingo easter florence florencia francia georgia houston india ireland
    israel italia jackson jamaica jesus jesús jordan julio june july kelvin kenya lincoln london lorraine lourdes
    madison marco marte mayo melbourne memphis mercedes milan montana natividad navidad noel paris parís phoenix
    philippine ramadan roma savannah siena sierra sidney sofia sydney trinidad troy valencia valentine venus victoria
    vienna virginia washington alexa siri claude cortana gemini bard mercury apollo athena zeus maría-hilf god
    santiago córdoba adán corona macarena guadalupe salamanca rené-descartes marina lima león eden zion africa áfrica
    """
)

# What follows "my name is" and is no name.
NOT_NAMES = _words(
    """
    a an the my your his her our their this that these those it its he she they we you i me him them not no yes
    on in at of to for from with by as so too very really just only also and or but if then than because when where
    what who how why is was are were be been being do does did have has had will would can could should may might
    must all any some none more most much many well known unknown hard long short different spelled spelt
    important changed safe private secret confidential irrelevant nothing something common weird funny stupid mud back
    crazy names lazy dumb fat ugly worthless whatever anytime now today tomorrow tonight later soon again if asap
    ein eine einen der die das den dem des nicht kein keine so hier da ist war und oder aber wie mein dein ihr sein es
    ich du er sie wir uns euch egal leider auch nur sehr mal doch schon jetzt bitte
    el la los las un una lo no sí si y o pero como mi tu su que de del en es por para con se me te muy más mucho
    mucha atención loco loca tonto tonta fea feo ahora hoy mañana luego tarde importante secreto
    le les des une et ou mais pas plus tout très
    dear diary god lord world there everyone everybody all team folks guys sir madam friend friends both again doctor
    dr mr mrs ms mister miss mum mom dad mama papa mother father sister brother grandma grandpa mami papi doc
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december christmas easter
    montag dienstag mittwoch donnerstag freitag samstag sonntag januar februar märz mai juni juli oktober dezember
    lunes martes miércoles jueves viernes sábado domingo
    samaritans lifeline hotline 988 emergency ambulance police suicide crisis therapist counselor counsellor help
    support user assistant ai bot chatbot name redacted anonymous anon english german spanish
    i'm i've i'll i'd it's that's don't can't
    """
)

# Words that show that a text is German, where every noun has a capital.
GERMAN = _words(
    "ich und der die das nicht ist ein eine mit wir sie mich mir dir auch aber für auf war habe hat bin sich von zu "
    "wie meine mein meiner meinem dem den im heißt wohnt bei"
)

# Small words inside a name: Anna de la Cruz, Jan van Dijk.
PARTICLES = _words("de del della der den la las los van von zu zum da dos di du le al bin ibn y e ter ten")

# Short forms and names of today that the lists lack.
MORE_GIVEN = _words(
    """
    abby aisha alex ally andy annie ashley becca becky ben beth bex billy bobby brad cathy charlie chloe chris cindy
    danny dave dani deb debbie ed eddie emily emma ellie fatima fred gabby gabi greg hassan ibrahim jake jamal jamie
    jess jenny jimmy joey johnny josh juanita kate katie kayla kim kyle lexi liam lisa liz lizzie lucy luke maddie
    maggie mandy matt mateo megan mehmet mia mike mohammed molly muhammad nate nick niko noah olga ollie omar pam pete
    priya rachel rahul rebecca rick rob ronnie ryan sam sasha sophie steph steve stevie sven tariq tasha theo tim tina
    toby tommy trevor tyler vicky will xavier yasmin yusuf zach zoe
    basti flo gabi hanna hansi juergen juli jule kathi lukas moni sabrina steffi susi uschi uwe
    chema javi juanjo lola lupe maite nacho pepe quique tere toño
    """
)
