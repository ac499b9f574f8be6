"""The words of the invented scenes: forms, gender, what goes with what."""

from typing import NamedTuple


class Noun(NamedTuple):
    """A German noun with its gender (m, f, n), its plural, and the English for both.

    weak: a masculine that takes -n or -en in every case but the nominative singular.
    kinds: what a verb or an adjective may ask for.
    """

    german: str
    gender: str
    plural: str
    english: str
    english_plural: str
    kinds: tuple
    weak: str = ""


class Verb(NamedTuple):
    """A German verb and its English. `particle` separates; `objects` lists (case, kind) pairs."""

    particle: str
    infinitive: str  # without its particle, as all forms but the participle
    singular: str
    participle: str
    auxiliary: str  # hat or ist
    english: str
    ing: str
    past: str
    follow: str  # the English particle or preposition, or nothing
    objects: tuple


def _rows(table):
    return [
        [part.strip() for part in line.split(",")]
        for line in table.strip().splitlines()
        if line.strip()
    ]


NOUNS = [
    Noun(german, gender[0], plural, english, english_plural, tuple(kinds.split()), gender[1:])
    for german, gender, plural, english, english_plural, kinds in _rows(
        """
        Mann, m, Männer, man, men, person adult being
        Frau, f, Frauen, woman, women, person adult being
        Kind, n, Kinder, child, children, person being
        Junge, mn, Jungen, boy, boys, person being
        Mädchen, n, Mädchen, girl, girls, person being
        Student, men, Studenten, student, students, person adult being
        Arzt, m, Ärzte, doctor, doctors, person adult being
        Lehrerin, f, Lehrerinnen, teacher, teachers, person adult being
        Bäcker, m, Bäcker, baker, bakers, person adult being
        Sängerin, f, Sängerinnen, singer, singers, person adult being
        Nachbar, mn, Nachbarn, neighbour, neighbours, person adult being
        Hund, m, Hunde, dog, dogs, animal being
        Katze, f, Katzen, cat, cats, animal being
        Pferd, n, Pferde, horse, horses, animal being
        Vogel, m, Vögel, bird, birds, animal being
        Affe, mn, Affen, monkey, monkeys, animal being
        Ball, m, Bälle, ball, balls, thing
        Tasche, f, Taschen, bag, bags, thing opening
        Koffer, m, Koffer, suitcase, suitcases, thing opening
        Buch, n, Bücher, book, books, thing text
        Zeitung, f, Zeitungen, newspaper, newspapers, thing text
        Brief, m, Briefe, letter, letters, thing text
        Apfel, m, Äpfel, apple, apples, thing food
        Kuchen, m, Kuchen, cake, cakes, thing food
        Birne, f, Birnen, pear, pears, thing food
        Ei, n, Eier, egg, eggs, thing food
        Tür, f, Türen, door, doors, opening
        Fenster, n, Fenster, window, windows, opening
        Lampe, f, Lampen, lamp, lamps, thing device
        Radio, n, Radios, radio, radios, thing device
        Fernseher, m, Fernseher, television, televisions, device
        """
    )
]

# A place with the prepositions it takes, German and English; the German ones govern the dative here.
PLACES = [
    (
        Noun(german, gender, plural, english, english + "s", ("place",)),
        [p.split("/") for p in ways.split()],
    )
    for german, gender, plural, english, ways in _rows(
        """
        Park, m, Parks, park, in/in
        Garten, m, Gärten, garden, in/in
        Wald, m, Wälder, forest, in/in
        Küche, f, Küchen, kitchen, in/in
        Haus, n, Häuser, house, in/in vor/outside hinter/behind
        Schule, f, Schulen, school, in/in vor/outside
        Laden, m, Läden, shop, in/in vor/outside
        Straße, f, Straßen, street, auf/on
        Brücke, f, Brücken, bridge, auf/on unter/under
        Mauer, f, Mauern, wall, auf/on hinter/behind
        Baum, m, Bäume, tree, unter/under hinter/behind
        Strand, m, Strände, beach, an/on
        Fluss, m, Flüsse, river, an/by
        Bahnhof, m, Bahnhöfe, station, an/at vor/outside
        """
    )
]

# German stem (endings are added to it), English, and the kinds of noun it goes with.
ADJECTIVES = [
    (stem, english, tuple(kinds.split()))
    for stem, english, kinds in _rows(
        """
        klein, small, being thing opening device place
        groß, big, being thing opening device place
        alt, old, adult animal text opening device place
        jung, young, being
        müd, tired, being
        fröhlich, happy, being
        hungrig, hungry, being
        freundlich, friendly, person
        neu, new, opening device text
        rot, red, thing opening
        grün, green, thing opening
        schwarz, black, animal device opening
        weiß, white, animal device opening
        braun, brown, animal
        schwer, heavy, opening device
        ruhig, quiet, place
        schön, beautiful, place
        """
    )
]

VERBS = [
    Verb._make([*fields, tuple(tuple(pair.split()) for pair in objects.split("+") if pair)])
    for *fields, objects in _rows(
        """
        , rennen, rennt, gerannt, ist, run, running, ran, ,
        , springen, springt, gesprungen, ist, jump, jumping, jumped, ,
        , schlafen, schläft, geschlafen, hat, sleep, sleeping, slept, ,
        , warten, wartet, gewartet, hat, wait, waiting, waited, ,
        , spielen, spielt, gespielt, hat, play, playing, played, ,
        auf, stehen, steht, aufgestanden, ist, get, getting, got, up,
        ein, schlafen, schläft, eingeschlafen, ist, fall, falling, fell, asleep,
        weg, laufen, läuft, weggelaufen, ist, run, running, ran, away,
        an, kommen, kommt, angekommen, ist, arrive, arriving, arrived, ,
        , beobachten, beobachtet, beobachtet, hat, watch, watching, watched, , acc being
        , suchen, sucht, gesucht, hat, look, looking, looked, for, acc thing
        , nehmen, nimmt, genommen, hat, take, taking, took, , acc thing
        , tragen, trägt, getragen, hat, carry, carrying, carried, , acc thing
        , kaufen, kauft, gekauft, hat, buy, buying, bought, , acc thing
        , lesen, liest, gelesen, hat, read, reading, read, , acc text
        , essen, isst, gegessen, hat, eat, eating, ate, , acc food
        auf, heben, hebt, aufgehoben, hat, pick, picking, picked, up, acc thing
        an, schauen, schaut, angeschaut, hat, look, looking, looked, at, acc being
        auf, machen, macht, aufgemacht, hat, open, opening, opened, , acc opening
        zu, machen, macht, zugemacht, hat, close, closing, closed, , acc opening
        ein, schalten, schaltet, eingeschaltet, hat, switch, switching, switched, on, acc device
        aus, schalten, schaltet, ausgeschaltet, hat, switch, switching, switched, off, acc device
        weg, werfen, wirft, weggeworfen, hat, throw, throwing, threw, away, acc thing
        an, rufen, ruft, angerufen, hat, call, calling, called, , acc person
        , helfen, hilft, geholfen, hat, help, helping, helped, , dat person
        , folgen, folgt, gefolgt, ist, follow, following, followed, , dat being
        zu, hören, hört, zugehört, hat, listen, listening, listened, to, dat person
        zu, winken, winkt, zugewinkt, hat, wave, waving, waved, to, dat person
        , geben, gibt, gegeben, hat, give, giving, gave, , dat being + acc thing
        , zeigen, zeigt, gezeigt, hat, show, showing, showed, , dat person + acc thing
        , bringen, bringt, gebracht, hat, bring, bringing, brought, , dat person + acc thing
        """
    )
]

# Plural: singular, and the English for both.
MODALS = {
    "können": ("kann", "can", "can"),
    "müssen": ("muss", "must", "must"),
    "sollen": ("soll", "should", "should"),
    "wollen": ("will", "wants to", "want to"),
}
# Word by word: each German word with the English that it stands for.
TIMES = [
    [("heute", "today")],
    [("am", "in the"), ("Morgen", "morning")],
    [("am", "in the"), ("Abend", "evening")],
    [("am", "at"), ("Mittag", "noon")],
    [("nach", "after"), ("dem", "the"), ("Essen", "meal")],
]
CONJUNCTIONS = [("weil", "because"), ("obwohl", "although"), ("während", "while")]
